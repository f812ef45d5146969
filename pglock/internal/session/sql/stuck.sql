-- Ends sessions of Tenure's that hold one of the keys for which the backends $1 wait, and whose client stopped in the middle
-- of sending or reading, for at least that session's own TTL: they are not idle, so no timeout of the server ends them
-- (H69). The TTL stands in the application name.
select pg_terminate_backend(a.pid)
from pg_stat_activity a
where a.pid = any (select unnest(pg_blocking_pids(w.pid)) from unnest($1::bigint[]::int[]) w(pid))
  and a.state = 'active'
  and a.wait_event_type = 'Client'
  and a.wait_event in ('ClientRead', 'ClientWrite')
  and a.application_name ~ '^tenure [0-9]+ms '
  and a.state_change < clock_timestamp() - make_interval(secs => substring(a.application_name from '^tenure ([0-9]+)ms ')::float8 / 1000)
