-- As stuck.sql, for a key that is tried and not waited for: $1, $2 and $3 as in who.sql.
select pg_terminate_backend(a.pid)
  from pg_locks l
  join pg_stat_activity a on a.pid = l.pid
 where l.locktype = 'advisory' and l.granted
   and l.database = (select oid from pg_database where datname = current_database())
   and l.classid::bigint = $1::bigint and l.objid::bigint = $2::bigint and l.objsubid = $3::bigint
   and a.state = 'active'
   and a.wait_event_type = 'Client'
   and a.wait_event in ('ClientRead', 'ClientWrite')
   and a.application_name ~ '^tenure [0-9]+ms '
   and a.state_change < clock_timestamp() - make_interval(secs => substring(a.application_name from '^tenure ([0-9]+)ms ')::float8 / 1000)
