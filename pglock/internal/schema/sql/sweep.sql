-- Removes the rows of sessions whose backend is gone.
delete from tenure.holding h
 where not exists (select from pg_stat_activity a where a.pid = h.backend)
