-- Every lease row that is held or waited for: its holder, then who waits, in order. Times are in microseconds since 1970.
-- Slots are rows of their own, and who waits for any of a group stands under the group's name.
with clock as materialized (select clock_timestamp() as now)
select k.name, k.granted, k.session, k.acq, k.number, k.host, k.pid, k.program, k.note,
       (extract(epoch from k.since) * 1000000)::bigint as since,
       (extract(epoch from k.until) * 1000000)::bigint as until,
       (extract(epoch from clock.now) * 1000000)::bigint as now
  from clock, lateral (
         select l.name, true as granted, l.session, l.acq, l.number, l.host, l.pid, l.program, l.note, l.granted as since,
                l.expires as until
           from tenure.lease l
          where l.session is not null and l.expires > clock.now
         union all
         select w.name, false, w.session, w.acq, 0, w.host, w.pid, w.program, w.note, w.since, w.due
           from tenure.waiter w
          where w.due > clock.now
       ) k
 order by k.name, k.granted desc, k.since, k.session, k.acq
