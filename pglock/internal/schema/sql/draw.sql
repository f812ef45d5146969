-- Numbers a lock that this connection holds already, after a wait or above the ceiling: number, high, server time. -1, or no
-- row where the ceiling is empty: no valid incarnation; the lock stays.
select case when i.base is null then -1 else i.base + nextval('tenure.grants') end,
       c.high,
       clock_timestamp()
  from tenure.ceiling c
  left join tenure.incarnation i on i.started = pg_postmaster_start_time() and i.xmin = i.stamp
 limit 1
