-- The numbers of grants, each above every earlier one, at the price of one durable write for about a million of them.
-- ../doc.go tells the story; the rules that are easy to break stand beside the lines that they concern.

-- Draws the number after the lock is granted. UNLOGGED, so that a crash or a promotion empties it together with the
-- incarnation: a logged sequence hands out up to 32 values again after either. CACHE 1, or sessions would draw out of
-- order. Never restarted, never set: statements that are running would fall behind it.
create unlogged sequence tenure.grants as bigint cache 1 no cycle;

-- What a number drawn is added to, and whether that may be believed. One row, which an opening replaces.
create unlogged table tenure.incarnation (
    base     bigint      not null,
    started  timestamptz not null, -- pg_postmaster_start_time(): a clean restart, a copy, pg_upgrade keep the row, not this
    system   bigint      not null, -- the cluster's identifier
    database oid         not null, -- CREATE DATABASE … TEMPLATE copies the row to the byte
    stamp    xid         not null  -- the transaction that wrote the row: a restored dump keeps the rest
);

-- No grant above high is handed out. An ordinary table: it is what survives.
create table tenure.ceiling (
    high bigint not null
);
-- One row. A dump makes its indexes last, after it has set its sequences: begin_change looks for this one.
create unique index ceiling_one_row on tenure.ceiling ((true));
insert into tenure.ceiling (high) values (0);

-- What every acquisition reads, always one row: base is null without a valid incarnation, high in an empty ceiling. OFFSET
-- keeps the planner from repeating the subqueries in each place where they are used (measured).
create view tenure.scale (base, high) as
select (select base from tenure.incarnation where started = pg_postmaster_start_time() and xmin = stamp),
       (select max(high) from tenure.ceiling)
offset 0;

-- What an opening, a raise and init_above do first. The settings last until the transaction ends; a SET clause of the
-- function for synchronous_commit would end before the commit, and so do nothing.
create function tenure.begin_change() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
        raise exception 'tenure: tokens need READ COMMITTED: an old snapshot would be taken for the present'
            using errcode = 'invalid_transaction_state';
    end if;
    -- While a dump is being restored, its last step but one is to set the sequence back to what it was. What was drawn by
    -- then would be drawn again.
    if to_regclass('tenure.ceiling_one_row') is null then
        raise exception 'tenure: index ceiling_one_row is missing: a dump is being restored'
            using errcode = 'TN002',
                  hint = 'Locks are granted again when the restore has ended.';
    end if;
    -- Whoever reads what this transaction writes hands it out as durable.
    if current_setting('synchronous_commit') = 'off' then
        perform set_config('synchronous_commit', 'local', true);
    end if;
    -- One that hangs at its commit, for want of a synchronous standby, holds the row of ceiling. The others come back
    -- with 55P03 (lock_not_available) instead of filling the server with connections that wait for it.
    perform set_config('lock_timeout', '2s', true);
    -- From here one at a time. A schema restored without its data has no row.
    perform 1 from tenure.ceiling for update;
    if not found then
        insert into tenure.ceiling (high) values (0) on conflict do nothing;
        perform 1 from tenure.ceiling for update;
    end if;
end
$$;

-- The last value drawn, 0 if none. Not transactional, and not cached.
create function tenure.last_drawn() returns bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
    select case when is_called then last_value else last_value - 1 end from tenure.grants
$$;

-- Writes an incarnation whose grants are all above "above", above the ceiling and above the clock. The caller holds the
-- ceiling's row lock. No EXCEPTION block here or in a caller: inside one, xmin is a subtransaction's and never the stamp.
create function tenure.write_incarnation(above bigint, span bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    last  constant bigint := tenure.last_drawn();
    clock constant bigint := extract(epoch from clock_timestamp()) * 1000000;
    floor bigint;
begin
    if span is null or span not between 1 and 1 << 24 then
        raise exception 'tenure: a span of % grants; 1 to 16777216 would be right', span
            using errcode = 'invalid_parameter_value';
    end if;
    -- The clock is the floor where the ceiling itself is older than grants: a standby that lagged, a restored dump.
    select greatest(max(high), clock, above) into strict floor from tenure.ceiling;
    if floor + span >= 1::bigint << 55 then
        raise exception 'tenure: no grants are left below 2^55 (the last is %)', floor
            using errcode = 'numeric_value_out_of_range',
                  hint = 'Is the server''s clock right? Was init --above given a token, or a number of another kind?';
    end if;
    update tenure.ceiling set high = floor + span;
    delete from tenure.incarnation;
    insert into tenure.incarnation (base, started, system, database, stamp)
    select floor - last, pg_postmaster_start_time(), system_identifier,
           (select oid from pg_database where datname = current_database()), pg_current_xact_id()::xid
      from pg_control_system();
    if not exists (select from tenure.incarnation where xmin = stamp) then
        raise exception 'tenure: an incarnation cannot be opened inside a savepoint'
            using errcode = 'invalid_transaction_state';
    end if;
end
$$;

-- Does the row that statements trust, if there is one, belong to this cluster and database? They do not look, since the
-- control file costs them a third; each connection asks once.
create function tenure.belongs() returns boolean
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
    select not exists (
        select from tenure.incarnation
         where started = pg_postmaster_start_time() and xmin = stamp
           and (system <> (select system_identifier from pg_control_system())
                or database <> (select oid from pg_database where datname = current_database())))
$$;

-- Opens an incarnation where there is no valid one, for a role that cannot write its tables.
create function tenure.open_incarnation(span bigint default 1 << 20) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    trusted bigint;
begin
    perform tenure.begin_change();
    -- Others may have opened one while this waited: each statement here sees what is committed by then.
    select base into strict trusted from tenure.scale;
    if trusted is null then
        perform tenure.write_incarnation(0, span);
        return;
    end if;
    if tenure.belongs() and (select max(high) > 0 from tenure.ceiling) then
        return;
    end if;
    -- The row came with a copied database, or the ceiling was emptied: running statements may be drawing over it.
    lock table tenure.incarnation in access exclusive mode;
    perform tenure.write_incarnation(trusted + tenure.last_drawn(), span);
end
$$;

-- Raises the ceiling, unless another has done so.
create function tenure.raise_ceiling(wanted bigint) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    most bigint;
begin
    perform tenure.begin_change();
    -- One role could otherwise use up the numbers of all.
    select greatest(high, base + tenure.last_drawn()) + (1 << 24) into strict most from tenure.scale;
    if wanted > most or wanted >= 1::bigint << 55 then
        raise exception 'tenure: the ceiling was asked to rise to %, and grants are at %', wanted, most - (1 << 24)
            using errcode = 'numeric_value_out_of_range';
    end if;
    update tenure.ceiling set high = wanted where high < wanted;
end
$$;

-- Afterwards every grant is above token_grant. For tenure init --above, and not for roles that only lock.
create function tenure.init_above(token_grant bigint, span bigint default 1 << 20) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    trusted bigint;
begin
    if token_grant is null or token_grant not between 0 and (1::bigint << 55) - 1 then
        raise exception 'tenure: % is not a grant: those are between 0 and 2^55', token_grant
            using errcode = 'numeric_value_out_of_range',
                  hint = 'A token is its grant times 256.';
    end if;
    perform tenure.begin_change();
    -- A statement that runs has read the old base and may not have drawn yet: it would draw a number that has fallen.
    lock table tenure.incarnation in access exclusive mode;
    select base + tenure.last_drawn() into strict trusted from tenure.scale;
    perform tenure.write_incarnation(greatest(token_grant, trusted), span);
end
$$;

revoke all on function tenure.begin_change(), tenure.last_drawn(), tenure.write_incarnation(bigint, bigint),
    tenure.belongs(), tenure.open_incarnation(bigint), tenure.raise_ceiling(bigint), tenure.init_above(bigint, bigint)
  from public;
