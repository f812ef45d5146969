-- lock_many.sql where some of the keys are wanted shared by a session that has them so already, which adds 4 to how they are
-- meant: the server would grant those at once, past a writer who waits for the readers to end. Here he holds back his own
-- session's readers too.
select w.place,
       case
         when w.form & 4 <> 0 and exists (
                select
                from pg_locks l
                where l.locktype = 'advisory' and not l.granted and l.mode = 'ExclusiveLock'
                  and l.database = (select oid from pg_database where datname = current_database())
                  and l.classid::bigint = (w.key >> 32) & 4294967295 and l.objid::bigint = w.key & 4294967295
                  and l.objsubid = 1 + (w.form & 2) / 2
              ) then 0
         when case w.form & 3
                when 0 then pg_try_advisory_lock(w.key)
                when 1 then pg_try_advisory_lock_shared(w.key)
                when 2 then pg_try_advisory_lock((w.key >> 32)::int4, ((w.key << 32) >> 32)::int4)
                when 3 then pg_try_advisory_lock_shared((w.key >> 32)::int4, ((w.key << 32) >> 32)::int4)
              end then nextval($3::oid::regclass)
         else 0
       end,
       clock_timestamp()
  from unnest($1::bigint[], $2::bigint[]) with ordinality as w(key, form, place)
