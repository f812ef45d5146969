// Package rows keeps leases as rows of a table: the mode of pglock that works behind any pooler and on any database that
// speaks PostgreSQL, since every operation is one statement and no session state is left behind.
//
//	store, err := rows.New(ctx, rows.Config{
//		Dial: func(ctx context.Context) (*pgx.Conn, error) { return pgx.Connect(ctx, url) },
//	})
//	locker, err := tenure.New(store, tenure.Options{})
//
// A lease is a row of tenure.lease, with its owner, its number and its end on the database's clock. It outlives
// connections, restarts and resets on the way: what ends it is its release, its time, or the answer that it is not ours.
//
// # One connection, one statement at a time
//
// Requests that arrive while a statement is on its way go together in the next one, over arrays (combine.go). A lone
// request goes at once, in a statement of its own. Nobody's context reaches the connection: a caller whose context ends
// leaves, and its request goes on.
//
// Statements are sent by the simple protocol, whatever the configuration's default. Such a statement is one message, and
// the server begins, commits and answers without another: a pooler cannot tear it apart, it leaves no prepared statement
// behind that a pooler would lose, and a client that is stopped in the middle of sending sits on no row.
//
// # Waiting
//
// Who is refused and wants to wait is written into tenure.waiter, in the statement that refused it, and asks again: at first
// soon, then ever more rarely. A grant is always made by the waiter's own question. It is never made by the release, which
// would have to hand the row to a process that may be gone, and to trust a sending long past.
//
// A live waiter is passed by nobody who came later, so a name that comes free is as good as reserved for the first of them,
// until the time by which that one has said that it will have asked again. Where LISTEN works, the release wakes that one
// waiter; the rest are left alone.
package rows
