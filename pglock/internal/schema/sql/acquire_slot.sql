-- Tries the keys ($1) in their order until one is granted: ord (from 1) of the last one tried, its number as in acquire.sql,
-- high, server time. Nothing is tried after the first grant, and nothing is locked in a WHERE, which the planner may run
-- on any row: each round of the recursion goes by the answer of the one before.
with recursive tried (ord, number) as (
    select 0, 0::bigint
    union all
    select t.ord + 1,
           case
             when s.base is null or s.high is null then -1
             when pg_try_advisory_lock(($1::bigint[])[t.ord + 1]) then s.base + nextval('tenure.grants')
             else 0
           end
      from tried t, tenure.scale s
     where t.number = 0 and t.ord < cardinality($1::bigint[])
)
select t.ord, t.number, s.high, clock_timestamp()
  from tried t, tenure.scale s
 order by t.ord desc
 limit 1
