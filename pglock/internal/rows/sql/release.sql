-- Takes owners out of the queue and frees what they hold, then wakes whoever is next. It serves Release, Abandon and Close,
-- and undoes nothing twice: an owner that has nothing, or was never heard of, is no error.
--
-- $1 session
-- one element for each owner and name, all different:
-- $2 acq   $3 name
with clock as materialized (
	select
		clock_timestamp() as now,
		set_config('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'local' else current_setting('synchronous_commit') end, true) as durable,
		set_config('lock_timeout', '2s', true) as bounded
),
asked as materialized (
	select clock.now, a.* from clock, unnest($2::bigint[], $3::text[]) as a (acq, name)
),
-- In one order for all, so that two batches do not deadlock. The owner is compared whole, and once more where the row has
-- changed under us.
ours as materialized (
	select l.name, l.acq, l.expires > a.now as good
	from asked a
	join tenure.lease l on l.name = a.name collate "C"
	where l.session = $1 and l.acq = a.acq
	order by l.name
	for no key update of l
),
freed as (
	update tenure.lease l set session = null, acq = null from ours where l.name = ours.name returning l.name
),
gone as (
	delete from tenure.waiter w using (select distinct acq from asked) a where w.session = $1 and w.acq = a.acq returning w.wants
),
-- What has come free, and what a waiter leaves behind that may just have been woken for it.
open as materialized (
	select name from freed
	union
	select n.name
	from gone
	cross join unnest(gone.wants) as n (name)
	left join tenure.lease l on l.name = n.name collate "C"
	where l.session is null or l.expires <= (select now from clock)
),
line as materialized (
	select
		open.name, w.channel, w.acq, w.wants,
		row_number() over (partition by open.name order by w.since, w.session, w.acq) as place
	from open
	join tenure.waiter w on w.wants && array[open.name] collate "C"
	where w.due > (select now from clock)
		and not (w.session = $1 and w.acq in (select acq from asked))
),
-- One waiter for each name, and of slots as many as could take one that is free beside it.
next as materialized (
	select distinct line.channel, line.acq
	from line
	where line.channel <> ''
		and (
			line.place = 1
			or line.place <= 1 + (
				select count(*)
				from unnest(line.wants) as n (name)
				left join tenure.lease l on l.name = n.name collate "C"
				where n.name <> line.name
					and (
						n.name in (select name from open) -- where this statement still sees it held
						or l.session is null
						or l.expires <= (select now from clock)
					)
			)
		)
),
woken as materialized (
	select pg_notify(next.channel, next.acq::text) from next
)
-- In this order, since nobody would be woken where nothing was ours: a part that no row asks for is not run. Then this is one
-- row without an owner.
select coalesce(ours.name, '') as name, coalesce(ours.acq, 0) as acq, coalesce(ours.good, false) as good, counted.woken
from (select count(*) as woken from woken) as counted
left join ours on true
