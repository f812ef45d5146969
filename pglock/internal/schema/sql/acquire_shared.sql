-- acquire.sql for a shared lock.
select case
         when s.base is null or s.high is null then -1
         when pg_try_advisory_lock_shared($1::bigint) then s.base + nextval('tenure.grants')
         else 0
       end,
       s.high,
       clock_timestamp()
  from tenure.scale s
