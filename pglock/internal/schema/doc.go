// Package schema is what Tenure keeps in a PostgreSQL database: the schema tenure, its migrations, what a role needs to use
// it, and the numbers of grants. The SQL is in files of its own, in the folder sql.
//
//	if err := schema.Ensure(ctx, conn); err != nil { … }    // an *Error says what an administrator must run
//	numbering, err := schema.Number(ctx, conn)              // once on each connection, before its first lock
//	…
//	conn.QueryRow(ctx, schema.Acquire, key, numbering.Sequence).Scan(&number, &at)
//	switch (schema.Answer{Number: number, High: numbering.High}).Verdict() { … }
//
// # Numbers
//
// A number never comes twice and never falls, whatever happens to the server, and it costs no write of its own: it is the
// next value of a sequence that is unlogged, so that a crash or a promotion empties it. A number counts only up to high (the
// ceiling), in an ordinary table. Whoever finds the sequence to be another than the one that was opened since the server's
// start (the incarnation, an unlogged table, says which) opens it: sets it above the ceiling and above the clock, and the
// ceiling [Span] = 2^20 above that; so one durable write serves a million grants. All numbers are on the scale of
// microseconds since 1970, and below [Limit] = 2^55.
//
// The statements do not look whether the incarnation is valid: each connection does so once, before its first lock. What
// ends an incarnation ends the connections too (a crash, a restart, a promotion), or gives the sequence another oid, by which
// the statements know it (a dump restored into the running server; triggers on both tables make the sequence anew when
// something else than these functions changes them). That the ceiling was committed is known from then too; it only rises.
//
// # Protocol
//
// Acquire gives a number; Draw gives one, and the ceiling as it is by then.
//
//   - [Busy] (0): another has the lock.
//   - [AboveCeiling]: the lock is held, and the number is void. Draw again, for a higher ceiling; if that is not enough,
//     [Raise] to [Answer.Wanted] (number + 2^20) on another connection, and Draw again; never hand the number out.
//   - [Granted]: hand it out. If [Answer.Early] says that less than half of the span is left, Raise now, beside the callers.
//   - An error that the server answered: the sequence may be gone. Ask for the numbering anew ([Numbers]); where it is not
//     valid, [Open] on a connection without locks.
//
// Open and Raise run on a connection without locks, and not on a caller's time: their commit waits for the log and, where
// the server is set up so, for a synchronous standby. While that is missing, one caller in the whole database hangs, and the
// others hear [Occupied] within two seconds. Let a process have one call at a time, and give its callers "unavailable".
//
// The statements need a transaction of their own: an old snapshot would take an old ceiling for the present one.
package schema
