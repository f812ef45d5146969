-- Tells who holds a name, who waits for it, and when it last ran. It changes nothing.
--
-- $1 name
with clock as materialized (select clock_timestamp() as now)
select
	'holder' as part, l.session, l.acq, l.number, (extract(epoch from l.granted) * 1000000)::bigint as since,
	l.host, l.pid, l.program, l.note
from tenure.lease l, clock
where l.name = $1 collate "C" and l.session is not null and l.expires > clock.now
union all
select 'ran', '', 0, 0, (extract(epoch from l.ran) * 1000000)::bigint, '', 0, '', ''
from tenure.lease l
where l.name = $1 collate "C" and l.ran is not null
union all
(
	select
		'waiter', w.session, w.acq, 0, (extract(epoch from w.since) * 1000000)::bigint,
		w.host, w.pid, w.program, w.note
	from tenure.waiter w, clock
	where w.name = $1 collate "C" and w.due > clock.now
	order by w.since, w.session, w.acq
)
