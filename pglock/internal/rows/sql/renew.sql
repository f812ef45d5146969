-- Pushes out the end of what is still its owner's. It creates nothing, and shortens nothing, since an earlier proof may rest
-- on the later end. What has run out is gone, although nobody may have it yet: whoever saw it free was right.
--
-- $1 session
-- one element for each lease, all different:
-- $2 acq   $3 name   $4 ttl in microseconds
with clock as materialized (
	select
		clock_timestamp() as now,
		set_config('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'local' else current_setting('synchronous_commit') end, true) as durable,
		set_config('lock_timeout', '2s', true) as bounded
),
ours as materialized (
	select l.name, clock.now + a.ttl * interval '1 microsecond' as until
	from clock
	cross join unnest($2::bigint[], $3::text[], $4::bigint[]) as a (acq, name, ttl)
	join tenure.lease l on l.name = a.name collate "C"
	where l.session = $1 and l.acq = a.acq and l.expires > clock.now
	order by l.name -- one order for all, so that two batches do not deadlock
	for no key update of l
)
update tenure.lease l
set expires = greatest(l.expires, ours.until), used = greatest(l.used, (ours.until at time zone 'utc')::date)
from ours
where l.name = ours.name
returning l.name, l.acq
