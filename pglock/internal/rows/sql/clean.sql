-- Removes a batch of rows that nobody has used for long, and of waiters that are gone. Rows that somebody is busy with are
-- left alone. A name that comes back starts above the clock, so a row whose number is ahead of the clock stays.
--
-- $1 days   $2 how many at most
with clock as materialized (
	select clock_timestamp() as now, set_config('lock_timeout', '2s', true) as bounded
),
unused as materialized (
	select l.name
	from tenure.lease l, clock
	where l.used < (clock.now at time zone 'utc')::date - $1::integer
		and (l.session is null or l.expires <= clock.now)
		and l.number < (extract(epoch from clock.now) * 1000000)::bigint
	order by l.used
	limit $2::integer
	for no key update of l skip locked
),
removed as (
	delete from tenure.lease l using unused where l.name = unused.name returning l.name
),
dead as materialized (
	select w.session, w.acq
	from tenure.waiter w, clock
	where w.due < clock.now - interval '1 minute'
	limit $2::integer
	for update of w skip locked
),
buried as (
	delete from tenure.waiter w using dead where w.session = dead.session and w.acq = dead.acq returning w.acq
)
select (select count(*) from removed) as leases, (select count(*) from buried) as waiters
