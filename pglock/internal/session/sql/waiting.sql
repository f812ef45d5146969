-- Which of the backends $1 still wait for an advisory lock; their application names are $2.
select l.pid
  from pg_locks l
  join pg_stat_activity a on a.pid = l.pid
 where l.locktype = 'advisory' and not l.granted and l.pid = any($1::bigint[]) and a.application_name = any($2::text[])
