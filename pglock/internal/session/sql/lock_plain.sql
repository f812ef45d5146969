-- Tries several keys ($1), all of them bigints and exclusive, as most are. The sequence to number from is $2. A row each, in
-- the order of the keys: its number (0: somebody has it), and the time, which is read once.
--
-- A set that is made in a select list is not stored before it is read, and keeps its order.
select case when pg_try_advisory_lock(w.key) then nextval($2::oid::regclass) else 0 end,
       (select clock_timestamp())
  from (select unnest($1::bigint[]) as key) as w
