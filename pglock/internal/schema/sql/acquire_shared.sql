-- acquire.sql for a shared lock.
select case
         when i.base is null then -1
         when pg_try_advisory_lock_shared($1::bigint) then i.base + nextval('tenure.grants')
         else 0
       end,
       c.high,
       clock_timestamp()
  from tenure.ceiling c
  left join tenure.incarnation i on i.started = pg_postmaster_start_time() and i.xmin = i.stamp
 limit 1
