-- Ends a session of ours whose connection broke: the server may not have noticed, and keep its locks. The start tells it
-- from another session that got the same process id. A row as long as it is there.
select pg_terminate_backend(pid)
from pg_stat_activity
where pid = $1::bigint and (extract(epoch from backend_start) * 1000000)::bigint = $2
