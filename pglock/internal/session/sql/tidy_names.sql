-- Removes some names that nobody has used for $1 days.
delete from tenure.name
 where (key, name) in (
   select key, name from tenure.name where used < current_date - $1::bigint::int limit 1000 for update skip locked
 )
