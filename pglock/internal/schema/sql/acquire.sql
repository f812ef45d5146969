-- Tries one key ($1), and numbers the grant: number, high, server time. -1: no valid incarnation, and nothing is locked;
-- 0: another has it. The number is drawn after the grant, since only a branch of CASE waits for its condition.
select case
         when s.base is null or s.high is null then -1
         when pg_try_advisory_lock($1::bigint) then s.base + nextval('tenure.grants')
         else 0
       end,
       s.high,
       clock_timestamp()
  from tenure.scale s
