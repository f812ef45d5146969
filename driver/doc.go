// Package driver is what a store owes to Tenure: the small interface behind [github.com/tenurelock/tenure.Locker].
//
// A driver speaks to one kind of store: a directory, PostgreSQL, Redis, etcd, the memory of a process. It decides who is
// granted a name, numbers the grants, and says when a request that proved one was sent. Everything else is done once, in
// the root package, for all drivers: the queue inside a process, fencing tokens and local hand-offs, trust and renewal,
// contexts, clean-up after a lost answer.
//
// A program does not call a driver; it opens one and gives it to tenure.New:
//
//	store, err := filelock.Open(dir, filelock.Options{})
//	locker, err := tenure.New(store, tenure.Options{})
//
// # Writing one
//
// Implement [Store], embed [Local] in it, and run the whole of package locktest over it; docs/adding-a-store.md goes
// through it step by step. What the compiler cannot check, and locktest does:
//
//   - [Proof.Sent] is read from [Now] before the first byte of the request leaves. Never after, never at the answer.
//   - A renewal never creates: a name that is not this session's any more stays so.
//   - Owners are compared whole: session and acquisition number.
//   - Whatever may have reached the store without an answer is said to be unknown ([Unknown]), never guessed.
//   - A call returns soon after its context ends, whatever the client library does.
package driver
