// Package open gives a store for a URL: what commands need, and programs that read their store from a setting.
//
//	store, err := open.Store(ctx, os.Getenv("TENURE_STORE"), open.Options{TTL: 30 * time.Second})
//	locker, err := tenure.New(store, tenure.Options{})
//
// A program that knows its store opens it with the store's own package, which has all its options.
//
// # What is accepted
//
//	file:///var/lib/locks    a directory of lock files (package filelock); %20 and the like are decoded
//	file:locks               the same, relative to the working directory
//	/var/lib/locks, ./locks  a plain path, absolute or beginning with a dot; nothing is decoded
//	memory:                  the memory of this process (package memlock): it excludes nobody outside
//	postgres://user@host/db  a PostgreSQL database (package pglock); postgresql:// is the same
//	redis://host:6379/0      a Redis or Valkey (package redislock); rediss:// is the same over TLS
//	redis+sentinel://a,b,c/m the primary that Sentinels know as m
//	redis+cluster://a,b,c    a Redis Cluster
//
// A PostgreSQL URL is read as psql and pgx read it: several hosts, sslmode and other settings behind a question mark, PGHOST,
// PGPASSWORD, ~/.pgpass and the like for what it does not say. Two more settings are Tenure's:
//
//	?tenure_mode=rows        lease rows in place of session locks: for poolers that share sessions, and to bear restarts
//	?tenure_pooler=session   the address is a pooler that keeps one server session for each client, as PgBouncer does with
//	                         pool_mode = session; otherwise session locks refuse poolers
//
// A Redis URL may say ?tenure_grace=5s, after which silence a crashed holder's lease passes on (0s: at its TTL), and
// ?tenure_prefix=app: in front of all keys.
//
// The TTL of session locks belongs to the session: it is [Options].TTL, and a Locker cannot have another.
//
// A word without a scheme is refused, since it is more often a mistake than a directory: write ./word. Errors never
// repeat a URL, which may hold a password.
package open
