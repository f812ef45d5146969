-- The advisory locks of this session: what is left after an error.
select classid::bigint, objid::bigint, objsubid, mode = 'ShareLock'
from pg_locks
where locktype = 'advisory' and pid = pg_backend_pid() and granted
