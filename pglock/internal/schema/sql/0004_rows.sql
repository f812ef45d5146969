-- Lease rows: the locks of pglock's mode "rows". All times are on this database's clock.

create table tenure.lease (
	-- Bytes decide, not a language: two names are equal only if they are the same, and rows are locked in one order everywhere.
	name text collate "C" primary key,
	-- The owner, compared whole. Null: free. A freed row keeps the rest, above all its number.
	session text collate "C",
	acq bigint, -- the unsigned acquisition number, bit by bit
	-- Rises with every grant of the name.
	number bigint not null check (number > 0),
	-- Whoever holds a row keeps it up to here. From then on it is free, whatever else it says.
	expires timestamptz not null,
	granted timestamptz not null,
	-- Who was granted it last.
	host text not null,
	pid bigint not null,
	program text not null,
	note text not null,
	-- The last grant that asked OncePer or Gap.
	ran timestamptz,
	-- The last day on which the row is of use as far as is known: the day of its last grant or renewal, or the end of a period
	-- that OncePer or Gap has asked for. Days, so that the index is written once a day and every other write stays on its page.
	used date not null
) with (fillfactor = 50);

create index lease_used on tenure.lease (used);

-- Who waits. The order is that of since. What a crash empties is written again with each waiter's next question.
create unlogged table tenure.waiter (
	session text collate "C",
	acq bigint,
	-- The name that was asked for; of slots, that of their group.
	name text collate "C" not null,
	-- The names of which any one would do. One, or the slots.
	wants text[] collate "C" not null,
	since timestamptz not null,
	-- A waiter that has not asked again by then is gone, and in nobody's way.
	due timestamptz not null,
	-- Where the session listens. Empty: it only asks.
	channel text not null,
	host text not null,
	pid bigint not null,
	program text not null,
	note text not null,
	primary key (session, acq)
) with (fillfactor = 50);

-- Without a list of pending entries, which a waiting release would have to read through.
create index waiter_wants on tenure.waiter using gin (wants) with (fastupdate = off);
