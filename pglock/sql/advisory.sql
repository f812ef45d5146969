-- Every advisory lock of this database: a row for each session that holds it, then one for each that waits, in order. A
-- session of Tenure's that has a lock for several readers of its process has a row for each of them that is listed.
--
-- Only this database's, since keys of others are other locks, and with objsubid, which alone tells bigint 1 from the pair
-- (0, 1) (H37). Of sessions of other roles a role without pg_read_all_stats sees the application's name, and no more: the
-- query then reads "<insufficient privilege>", and the rest is null.
--
-- Times are in microseconds since 1970, so that no setting of the session changes how they read.
with everything as materialized ( -- once: each reading stops the server's lock table for a moment
  select * from pg_locks where locktype in ('advisory', 'transactionid')
),
locks as materialized (
  select e.classid::bigint as class, e.objid::bigint as object, e.objsubid::int as form, e.granted, e.mode = 'ShareLock' as shared,
         e.pid, e.waitstart,
         -- A prepared transaction has no process. What joins its locks is its virtual transaction, and one of them is on its id.
         case when e.pid is null then
           (select o.transactionid from everything o
             where o.locktype = 'transactionid' and o.pid is null and o.virtualtransaction = e.virtualtransaction)
         end as prepared
    from everything e
   where e.locktype = 'advisory'
     and e.database = (select oid from pg_database where datname = current_database())
)
select l.class, l.object, l.form,
       -- What the key stands for, as far as anybody has noted it. Several names share a key by a collision.
       array(select n.name from tenure.name n where l.form = 1 and n.key = l.class << 32 | l.object
             union
             select o.name from tenure.holding o where o.class = l.class and o.object = l.object and o.form = l.form
             order by 1) as names,
       l.granted, l.shared,
       coalesce(l.pid, 0) as backend,
       case when l.granted then array[]::int[] else pg_blocking_pids(l.pid) end as blocked_by,
       (extract(epoch from l.waitstart) * 1000000)::bigint as waiting,
       coalesce(a.application_name, '') as application,
       coalesce(a.usename::text, p.owner::text, '') as role,
       coalesce(host(a.client_addr), '') as client,
       coalesce(a.state, '') as state,
       coalesce(a.wait_event_type || ':' || a.wait_event, '') as wait_event,
       coalesce(a.query, 'prepared transaction ' || p.gid, '') as query,
       (extract(epoch from a.state_change) * 1000000)::bigint as state_change,
       (extract(epoch from a.query_start) * 1000000)::bigint as query_start,
       (extract(epoch from coalesce(a.xact_start, p.prepared)) * 1000000)::bigint as transaction_start,
       (extract(epoch from a.backend_start) * 1000000)::bigint as session_start,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint as now,
       h.session, h.acq, h.number, (extract(epoch from h.since) * 1000000)::bigint as since, h.host, h.pid as process, h.program, h.note
  from locks l
  left join pg_stat_activity a on a.pid = l.pid
  left join pg_prepared_xacts p on p.transaction = l.prepared
  -- Rows of a session that is gone may still be there, and its process id be somebody else's: the session's id tells.
  left join tenure.holding h on l.granted and h.backend = l.pid and h.shared = l.shared
        and h.class = l.class and h.object = l.object and h.form = l.form
        and left(h.session, 8) = left(split_part(a.application_name, ' ', 3), 8)
 order by l.form, l.class, l.object, l.granted desc, l.waitstart nulls last, l.pid, h.acq
