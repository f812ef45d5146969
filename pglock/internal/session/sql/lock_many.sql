-- Tries several keys ($1) in one statement. $2 is how each is meant: 0 bigint, 1 bigint shared, 2 two integers, 3 two
-- integers shared; two integers are packed into one bigint. The sequence to number from is $3. A row each: its place, its
-- number (0: somebody has it), the time.
--
-- The number is drawn after the grant, since the branches of a CASE are evaluated in order and only as far as needed.
select w.place,
       case
         when case w.form
                when 0 then pg_try_advisory_lock(w.key)
                when 1 then pg_try_advisory_lock_shared(w.key)
                when 2 then pg_try_advisory_lock((w.key >> 32)::int4, ((w.key << 32) >> 32)::int4)
                when 3 then pg_try_advisory_lock_shared((w.key >> 32)::int4, ((w.key << 32) >> 32)::int4)
              end then nextval($3::oid::regclass)
         else 0
       end,
       clock_timestamp()
  from unnest($1::bigint[], $2::bigint[]) with ordinality as w(key, form, place)
