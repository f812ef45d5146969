-- Tries the keys of several slots ($1, meant as $2 says, see lock_many.sql) in order, and stops at the first that is
-- granted, numbered from the sequence $3. A row: the place of the last one tried, its number (0: all are taken), the time.
--
-- Each round of a recursive query is evaluated once, from the row of the round before it; a WHERE could be evaluated for
-- rows that nobody wanted (H39).
with recursive tried (place, number) as (
    select 0, 0::bigint
    union all
    select t.place + 1,
           case
             when case ($2::bigint[])[t.place + 1]
                    when 0 then pg_try_advisory_lock(($1::bigint[])[t.place + 1])
                    else pg_try_advisory_lock((($1::bigint[])[t.place + 1] >> 32)::int4,
                                              ((($1::bigint[])[t.place + 1] << 32) >> 32)::int4)
                  end then nextval($3::oid::regclass)
             else 0
           end
      from tried t
     where t.number = 0 and t.place < cardinality($1::bigint[])
)
select t.place, t.number, clock_timestamp()
  from tried t
 order by t.place desc
 limit 1
