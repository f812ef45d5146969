-- Gives several keys back; $1 and $2 as in lock_many.sql. A row each: its place, and whether this connection had it.
select w.place,
       case w.form
         when 0 then pg_advisory_unlock(w.key)
         when 1 then pg_advisory_unlock_shared(w.key)
         when 2 then pg_advisory_unlock((w.key >> 32)::int4, ((w.key << 32) >> 32)::int4)
         when 3 then pg_advisory_unlock_shared((w.key >> 32)::int4, ((w.key << 32) >> 32)::int4)
       end
from unnest($1::bigint[], $2::bigint[]) with ordinality as w(key, form, place)
