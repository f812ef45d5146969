-- Numbers a lock that this connection holds already, after a wait or above the ceiling: number, high, server time. -1: no
-- valid incarnation; the lock stays.
select case when s.base is null or s.high is null then -1 else s.base + nextval('tenure.grants') end,
       s.high,
       clock_timestamp()
  from tenure.scale s
