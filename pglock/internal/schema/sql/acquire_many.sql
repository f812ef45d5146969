-- Tries the keys ($1) in their order, those shared for which $2 says so: ord (from 1), number as in acquire.sql, high,
-- server time. Not sorted: a sort could come before the locks.
select k.ord,
       case
         when s.base is null or s.high is null then -1
         when case when k.shared then pg_try_advisory_lock_shared(k.key) else pg_try_advisory_lock(k.key) end
           then s.base + nextval('tenure.grants')
         else 0
       end,
       s.high,
       clock_timestamp()
  from tenure.scale s, unnest($1::bigint[], $2::boolean[]) with ordinality as k (key, shared, ord)
