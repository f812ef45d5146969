-- Lists leases that outlived a heartbeat, for others to see who holds them: $1 is the session, the rest one array a column.
-- A row for each of the session's leases that somebody wants to have released.
with listed as (
  insert into tenure.holding (session, acq, backend, class, object, form, shared, name, number, since, host, pid, program, note)
  select $1, u.acq, pg_backend_pid(), u.class, u.object, u.form, u.shared <> 0, u.name, u.number,
         to_timestamp(0) + u.since * interval '1 microsecond', u.host, u.pid, u.program, u.note
  from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::bigint[],
              $10::text[], $11::bigint[], $12::text[], $13::text[])
    as u(acq, class, object, form, shared, name, number, since, host, pid, program, note)
  on conflict (session, acq) do nothing
)
select h.acq, h.wanted from tenure.holding h where h.session = $1 and h.wanted is not null
