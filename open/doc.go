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
//
// A word without a scheme is refused, since it is more often a mistake than a directory: write ./word. Errors never
// repeat a URL, which may hold a password.
package open
