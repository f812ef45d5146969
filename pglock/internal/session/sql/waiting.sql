-- Which of the backends $1 still wait for an advisory lock.
select pid
from pg_locks
where locktype = 'advisory' and not granted and pid = any($1::bigint[])
