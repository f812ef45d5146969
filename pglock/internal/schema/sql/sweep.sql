-- Removes the rows of sessions whose backend is gone. It waits for nobody.
delete from tenure.holding
 where (session, acq) in (
   select h.session, h.acq from tenure.holding h
    where not exists (select from pg_stat_activity a where a.pid = h.backend)
      for update skip locked
 )
