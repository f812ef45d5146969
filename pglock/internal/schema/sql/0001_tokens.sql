-- The numbers of grants, each above every earlier one, at the price of one durable write for about a million of them.
-- ../doc.go tells the story; the rules that are easy to break stand beside the lines that they concern.

-- Its values are the numbers. UNLOGGED, so that a crash or a promotion empties it together with the incarnation: a logged
-- sequence hands out up to 32 values again after either. CACHE 1, or sessions would draw out of order. It is set forwards
-- only, and by openings only, while they keep others from drawing.
create unlogged sequence tenure.grants as bigint cache 1 no cycle;

-- Of what the sequence may be believed. One row, which an opening replaces. Each connection compares it once, before its
-- first lock: no connection outlives the server's start or the sequence.
create unlogged table tenure.incarnation (
    started  timestamptz not null, -- pg_postmaster_start_time(): a clean restart, a copy, pg_upgrade keep the row, not this
    grants   oid         not null, -- the sequence: one made anew counts from 1
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
    perform set_config('tenure.changing', 'true', true); -- so that disturbed() knows who it is
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

-- What a connection must know before its first lock: whether numbers may be drawn, from which sequence, and up to where.
-- One row; without a valid incarnation, or with an empty ceiling, valid is false.
create function tenure.numbering(out valid boolean, out grants oid, out high bigint)
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
    select exists (
               select from tenure.incarnation i, pg_control_system() c
                where i.started = pg_postmaster_start_time() and i.xmin = i.stamp
                  and i.grants = g.oid and i.system = c.system_identifier
                  and i.database = (select oid from pg_database where datname = current_database()))
               and t.high > 0,
           g.oid, t.high
      from (select to_regclass('tenure.grants')::oid as oid) g, (select coalesce(max(high), 0) as high from tenure.ceiling) t
$$;

-- Writes an incarnation whose grants are all above "above", above the ceiling, above the clock and above what was drawn. The
-- caller holds the ceiling's row lock. No EXCEPTION block here or in a caller: inside one, xmin is a subtransaction's and
-- never the stamp.
create function tenure.write_incarnation(above bigint, span bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    clock constant bigint := extract(epoch from clock_timestamp()) * 1000000;
    floor bigint;
begin
    if span is null or span not between 1 and 1 << 24 then
        raise exception 'tenure: a span of % grants; 1 to 16777216 would be right', span
            using errcode = 'invalid_parameter_value';
    end if;
    -- This changes nothing, and keeps others from nextval until the commit: what they drew between the reading of the last
    -- value and the setting of the next would come again.
    alter sequence tenure.grants owned by none;
    -- The clock is the floor where the ceiling itself is older than grants: a standby that lagged, a restored dump.
    select greatest(max(high), clock, above, tenure.last_drawn()) into strict floor from tenure.ceiling;
    if floor + span >= 1::bigint << 55 then
        raise exception 'tenure: no grants are left below 2^55 (the last is %)', floor
            using errcode = 'numeric_value_out_of_range',
                  hint = 'Is the server''s clock right? Was init --above given a token, or a number of another kind?';
    end if;
    perform setval('tenure.grants', floor);
    update tenure.ceiling set high = floor + span;
    delete from tenure.incarnation;
    insert into tenure.incarnation (started, grants, system, database, stamp)
    select pg_postmaster_start_time(), 'tenure.grants'::regclass, system_identifier,
           (select oid from pg_database where datname = current_database()), pg_current_xact_id()::xid
      from pg_control_system();
    if not exists (select from tenure.incarnation where xmin = stamp) then
        raise exception 'tenure: an incarnation cannot be opened inside a savepoint'
            using errcode = 'invalid_transaction_state';
    end if;
end
$$;

-- Opens an incarnation where there is no valid one, for a role that cannot write its tables.
create function tenure.open_incarnation(span bigint default 1 << 20) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform tenure.begin_change();
    -- Others may have opened one while this waited: each statement here sees what is committed by then.
    if (select valid from tenure.numbering()) then
        return;
    end if;
    perform tenure.write_incarnation(0, span);
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
    select greatest(max(high), tenure.last_drawn()) + (1 << 24) into strict most from tenure.ceiling;
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
begin
    if token_grant is null or token_grant not between 0 and (1::bigint << 55) - 1 then
        raise exception 'tenure: % is not a grant: those are between 0 and 2^55', token_grant
            using errcode = 'numeric_value_out_of_range',
                  hint = 'A token is its grant times 256.';
    end if;
    perform tenure.begin_change();
    perform tenure.write_incarnation(token_grant, span);
end
$$;

-- Makes the sequence anew when something else than the functions above has changed what sessions know of it, such as a restore
-- of the data alone. They do not look again until the server refuses them the old one.
create function tenure.disturbed() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    last   bigint;
    rights text;
begin
    if current_setting('tenure.changing', true) = 'true' then
        return null;
    end if;
    perform set_config('tenure.changing', 'true', true);
    alter sequence tenure.grants owned by none; -- nobody draws from here on
    last := tenure.last_drawn();
    select string_agg(format('grant %s on sequence tenure.grants to %s;', a.privilege_type,
                             case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end), ' ')
      into rights
      from pg_class c, aclexplode(c.relacl) a
     where c.oid = 'tenure.grants'::regclass;
    drop sequence tenure.grants;
    execute format('create unlogged sequence tenure.grants as bigint start with %s cache 1 no cycle;', last + 1) || coalesce(rights, '');
    return null;
end
$$;

create trigger disturbed after insert or update or delete or truncate on tenure.ceiling
    for each statement execute function tenure.disturbed();
create trigger disturbed after insert or update or delete or truncate on tenure.incarnation
    for each statement execute function tenure.disturbed();

revoke all on function tenure.disturbed(), tenure.begin_change(), tenure.last_drawn(), tenure.numbering(), tenure.write_incarnation(bigint, bigint),
    tenure.open_incarnation(bigint), tenure.raise_ceiling(bigint), tenure.init_above(bigint, bigint)
  from public;
