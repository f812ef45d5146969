-- Gives several keys back ($1), all of them bigints and exclusive. A row each, in the order of the keys: whether this
-- connection had it.
select pg_advisory_unlock(w.key)
  from (select unnest($1::bigint[]) as key) as w
