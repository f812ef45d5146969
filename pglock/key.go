package pglock

import "github.com/tenurelock/tenure/pglock/internal/key"

// Key gives a name that stands for PostgreSQL's lock on two integers, for a program that shares it with code that already
// calls pg_advisory_lock(class, object):
//
//	lease, err := locker.Acquire(ctx, pglock.Key(1001, 42))
//
// The name is "pgkey:1001,42", which every call and the command take too: tenure run pgkey:1001,42 -- ./invoices.
//
// Any other name stands for a lock on one bigint: the first eight bytes, big-endian, of SHA-256 over the name. For code that
// is to share the lock of a name, docs/postgres.md has the key in SQL. Locks on two integers and on a bigint never
// exclude each other, whatever the numbers are.
func Key(class, object int32) string { return key.OfPair(class, object).Name() }

// RawKey gives a name that stands for PostgreSQL's lock on one bigint, for a program that shares it with code that already
// calls pg_advisory_lock(n): "pgkey:42".
func RawKey(n int64) string { return key.OfBigint(n).Name() }
