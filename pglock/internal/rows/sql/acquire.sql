-- Acquires up to some hundred requests in one statement: grants what is free, has the rest wait where that was asked for,
-- and says of each refusal who is in the way.
--
-- $1 session   $2 channel where it listens, or empty
-- one element for each request:
-- $3 acq   $4 name   $5 ttl   $6 host   $7 pid   $8 program   $9 note   $10 once per   $11 gap   $12 whether to wait
-- $13 waiting since, 0 at first   $14 how long until it will have asked again
-- one element for each name that would do, all different, in the order in which to try them:
-- $15 acq   $16 name
--
-- Times and durations are in microseconds (of times: since 1970), so that no setting of the session changes how they read.
with clock as materialized (
	select
		clock_timestamp() as now,
		(extract(epoch from clock_timestamp()) * 1000000)::bigint as us,
		-- For this statement's transaction only. A grant must outlive a crash of the server, or its number comes again.
		set_config('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'local' else current_setting('synchronous_commit') end, true) as durable,
		-- Nobody may hold up the connection's other requests by sitting on a row.
		set_config('lock_timeout', '2s', true) as bounded
),
asked as materialized (
	select clock.now, clock.us, a.*
	from clock, unnest(
		$3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::text[], $9::text[],
		$10::bigint[], $11::bigint[], $12::boolean[], $13::bigint[], $14::bigint[]
	) as a (acq, name, ttl, host, pid, program, note, once, gap, wait, since, pause)
),
-- What the rows said when the statement began. Whoever finds its names taken here is refused without locking anything.
wanted as materialized (
	select
		w.acq, w.rank, w.name collate "C" as name, l.session, l.acq as holder, l.number, l.expires, l.granted, l.host, l.pid, l.program, l.note,
		l.session is not null and l.expires > a.now as held,
		(extract(epoch from l.ran) * 1000000)::bigint as ran
	from unnest($15::bigint[], $16::text[]) with ordinality as w (acq, name, rank)
	join asked a on a.acq = w.acq
	left join tenure.lease l on l.name = w.name collate "C"
),
each as materialized (
	select acq, array_agg(name order by rank) as names, count(*) filter (where not held) as free, max(ran) as ran
	from wanted
	group by acq
),
-- Nobody passes a live waiter that came before: it may take as many names as are free, the next one those that are left.
before as materialized (
	select a.acq, w.since, w.due, w.session, w.acq as waiter, w.name, w.host, w.pid, w.program, w.note
	from asked a
	join each e on e.acq = a.acq
	join tenure.waiter w on w.wants && e.names
	where w.due > a.now
		and (w.session, w.acq) <> ($1, a.acq)
		and (a.since = 0 or (w.since, w.session, w.acq) < (timestamptz 'epoch' + a.since * interval '1 microsecond', $1, a.acq))
),
judged as materialized (
	select
		a.*, e.names, e.ran, e.free, b.ahead, b.due,
		-- A clock that was set back into the period before must not make it run twice.
		coalesce(a.once > 0 and e.ran / nullif(a.once, 0) - a.us / nullif(a.once, 0) in (0, 1), false) as done,
		case when a.gap > 0 and abs(a.us - e.ran) < a.gap then least(e.ran + a.gap - a.us, a.gap) else 0 end as left_of_gap
	from asked a
	join each e on e.acq = a.acq
	left join (select acq, count(*) as ahead, min(due) as due from before group by acq) b on b.acq = a.acq
),
chosen as materialized (
	select distinct on (j.acq) j.*, w.name as chosen, w.rank
	from judged j
	join wanted w on w.acq = j.acq
	where not w.held and not j.done and j.left_of_gap = 0 and coalesce(j.ahead, 0) < j.free
	order by j.acq, w.rank
),
-- The row itself decides: where somebody was quicker the update's condition fails, and the request is asked again.
won as (
	insert into tenure.lease as l (name, session, acq, number, expires, granted, host, pid, program, note, ran, used)
	select
		c.chosen, $1, c.acq, c.us, c.now + c.ttl * interval '1 microsecond', c.now, c.host, c.pid, c.program, c.note,
		case when c.once > 0 or c.gap > 0 then c.now end,
		((c.now + greatest(c.once, c.gap) * interval '1 microsecond') at time zone 'utc')::date
	from chosen c
	order by c.chosen -- one order for all, so that two batches do not deadlock
	on conflict (name) do update set
		session = excluded.session, acq = excluded.acq,
		number = greatest(l.number + 1, excluded.number),
		expires = excluded.expires, granted = excluded.granted,
		host = excluded.host, pid = excluded.pid, program = excluded.program, note = excluded.note,
		ran = coalesce(excluded.ran, l.ran), used = greatest(l.used, excluded.used)
	where (l.session is null or l.expires <= excluded.granted)
		-- Where memory counts, nobody may have been granted it since it was judged.
		and (excluded.ran is null or l.number = (select w.number from wanted w where w.name = l.name))
	returning l.name, l.acq, l.number, l.granted
),
served as (
	delete from tenure.waiter w using won where w.session = $1 and w.acq = won.acq
),
queued as (
	insert into tenure.waiter as w (session, acq, name, wants, since, due, channel, host, pid, program, note)
	select
		$1, j.acq, j.name, j.names,
		case when j.since > 0 then timestamptz 'epoch' + j.since * interval '1 microsecond' else j.now end,
		j.now + j.pause * interval '1 microsecond', $2, j.host, j.pid, j.program, j.note
	from judged j
	where j.wait and not j.done and (j.left_of_gap = 0 or j.free = 0) and not exists (select from won where won.acq = j.acq)
	on conflict (session, acq) do update set due = excluded.due, channel = excluded.channel
	returning w.acq, w.since
)
select
	j.acq,
	won.name is not null as won,
	c.acq is not null and won.name is null as raced,
	q.acq is not null as waits,
	coalesce((extract(epoch from q.since) * 1000000)::bigint, 0) as since,
	coalesce(won.name, '') as name,
	coalesce(won.number, 0) as number,
	coalesce((extract(epoch from won.granted) * 1000000)::bigint, 0) as granted,
	j.us as now, j.done, j.left_of_gap, coalesce(j.ran, 0) as ran, j.free > 0 as free,
	coalesce(j.ahead, 0) as ahead, coalesce((extract(epoch from j.due) * 1000000)::bigint, 0) as due,
	-- Who is in the way: a holder, else whoever waits before, else (of a gap) the last one that was granted it.
	coalesce((extract(epoch from h.expires) * 1000000)::bigint, 0) as expires,
	coalesce(h.session, '') as session, coalesce(h.holder, 0) as holder, coalesce(h.number, 0) as holder_number,
	coalesce((extract(epoch from h.since) * 1000000)::bigint, 0) as holder_since,
	coalesce(h.host, '') as host, coalesce(h.pid, 0) as pid, coalesce(h.program, '') as program, coalesce(h.note, '') as note
from judged j
left join won on won.acq = j.acq
left join chosen c on c.acq = j.acq
left join queued q on q.acq = j.acq
left join lateral (
	select * from (
		(
			select 1 as kind, w.expires, w.session, w.holder, w.number, w.granted as since, w.host, w.pid, w.program, w.note
			from wanted w where w.acq = j.acq and w.held order by w.expires limit 1
		)
		union all
		(
			select 2, null, b.session, b.waiter, 0, b.since, b.host, b.pid, b.program, b.note
			from before b where b.acq = j.acq and j.left_of_gap = 0 order by b.since, b.session, b.waiter limit 1
		)
		union all
		(
			select 3, null, '', 0, w.number, w.granted, w.host, w.pid, w.program, w.note
			from wanted w where w.acq = j.acq and j.left_of_gap > 0 and (extract(epoch from w.granted) * 1000000)::bigint = w.ran
		)
	) as known
	where won.name is null
	order by kind limit 1
) as h on true
