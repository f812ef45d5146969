// Package schema is what Tenure keeps in a PostgreSQL database: the schema tenure, its migrations, what a role needs to use
// it, and the numbers of grants. The SQL is in files of its own, in the folder sql.
//
//	if err := schema.Ensure(ctx, conn); err != nil { … }  // an *Error says what an administrator must run
//	if err := schema.Belongs(ctx, conn); err != nil { … } // once on each connection, before its first lock
//	…
//	conn.QueryRow(ctx, schema.Acquire, key).Scan(&answer.Number, &answer.High, &at)
//	switch answer.Verdict() { … }
//
// # Numbers
//
// A number never comes twice and never falls, whatever happens to the server, and it costs no write of its own: it is base +
// nextval, where the sequence and the table with the base (the incarnation) are unlogged, so that a crash or a promotion
// empties both. A number counts only up to high (the ceiling), in an ordinary table. Whoever finds no valid incarnation opens
// one above the ceiling and above the clock, and sets the ceiling [Span] = 2^20 above that; so one durable write serves a
// million grants. All numbers are on the scale of microseconds since 1970, and below [Limit] = 2^55.
//
// # Protocol
//
// Acquire and Draw give a number and the ceiling that the same statement has read as committed.
//
//   - [NoIncarnation] (-1): nothing was locked. [Open], then ask again. After a Draw the lock is still there: Open on another
//     connection, and Draw again.
//   - [Busy] (0): another has the lock.
//   - [AboveCeiling]: the lock is held, and the number is void. [Raise] to [Answer.Wanted] (number + 2^20) on another
//     connection, and Draw again; never hand the number out.
//   - [Granted]: hand it out. If [Answer.Early] says that less than half of the span is left, Raise now, beside the callers.
//
// Open and Raise run on a connection without locks, and not on a caller's time: their commit waits for the log and, where
// the server is set up so, for a synchronous standby. While that is missing, one caller in the whole database hangs, and the
// others hear [Occupied] within two seconds. Let a process have one call at a time, and give its callers "unavailable".
//
// The statements need READ COMMITTED and a transaction of their own: a snapshot from before the lock would take an old
// incarnation for the present one.
package schema
