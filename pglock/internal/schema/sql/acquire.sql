-- Tries one key ($1), and numbers the grant: number, high, server time. -1, or no row where the ceiling is empty: no valid
-- incarnation, and nothing is locked; 0: another has it. The number is drawn after the grant, since only a branch of CASE
-- waits for its condition. Not over the view tenure.scale, which says the same: it costs half as much again (measured).
select case
         when i.base is null then -1
         when pg_try_advisory_lock($1::bigint) then i.base + nextval('tenure.grants')
         else 0
       end,
       c.high,
       clock_timestamp()
  from tenure.ceiling c
  left join tenure.incarnation i on i.started = pg_postmaster_start_time() and i.xmin = i.stamp
 limit 1
