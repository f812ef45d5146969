-- Remembers a grant of the name $1, unless it comes too early: in the period of length $2 µs in which the last one was (or in
-- the one before it, by a clock set back a little; one that once was far ahead does not count), or less than $3 µs from it.
-- Zero: no such rule. A row: whether it was remembered, the
-- last grant that was remembered before, and the server's time. $4 is how the commit is to be made durable.
with asked as materialized (
  select clock_timestamp() as now, set_config('synchronous_commit', $4, true)
),
remembered as (
  insert into tenure.ran as r (name, at, host, pid, program, note)
  select $1, now, $5, $6, $7, $8
    from asked
  on conflict (name) do update
    set at = excluded.at, host = excluded.host, pid = excluded.pid, program = excluded.program, note = excluded.note
    where ($2::bigint = 0
           or (extract(epoch from r.at) * 1000000)::bigint / greatest($2, 1)
              - (extract(epoch from excluded.at) * 1000000)::bigint / greatest($2, 1) not in (0, 1))
      and ($3::bigint = 0 or abs(extract(epoch from excluded.at - r.at)) * 1000000 >= $3)
  returning true
)
select exists (select from remembered), a.now, r.at, r.host, r.pid, r.program, r.note
  from asked a left join tenure.ran r on r.name = $1
