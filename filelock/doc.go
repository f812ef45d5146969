// Package filelock keeps locks in a directory of one machine: no server, nothing to set up. It is the default store of
// the command, and right for cron jobs, single-instance programs and tests.
//
//	store, err := filelock.Open("/var/lib/nightly/locks", filelock.Options{})
//	if err != nil {
//		return err
//	}
//	locker, err := tenure.New(store, tenure.Options{})
//	if err != nil {
//		return err
//	}
//	err = locker.TryDo(ctx, "report/daily", func(ctx context.Context, lease *tenure.Lease) error { … })
//
// Each name has one file, held by flock(2) (LockFileEx on Windows). The kernel frees it the moment its holder dies,
// however it dies. The file also keeps what a lock needs to remember: the number of its last grant, so that fencing
// tokens rise across restarts, who holds it, and when it last ran. Lock files stay where they are; deleting one while
// nobody holds it costs only what it remembered.
//
// # What it does not do
//
//   - It works on one machine. Network file systems and FUSE are refused by [Open], since flock means something else on
//     each of them. Containers share a directory if they share a kernel and a local file system.
//   - A holder that is merely stopped keeps the name until it wakes or dies. Under "tenure run" a guardian process ends
//     the work and frees the name at the deadline.
//   - Waiters poll, every 8 to 20 ms, in no particular order.
//   - A lock file that is deleted or replaced under its holder no longer excludes anybody. The holder notices at its next
//     renewal, a third of the TTL later at most. Cleaners of /tmp do such things: choose another place.
//   - Nothing is flushed to the disk: after a power cut the clock, not the file, keeps tokens rising. A machine that boots
//     with its clock in the past may then repeat tokens.
//   - Who may write the lock file may lock it. Files are made with mode 0666 less the umask, the directory with 0700; for
//     several users make the directory yourself.
//
// # The files
//
// A name's file is the name itself where it has only a-z, 0-9, "_", "-" and dots that do not lead, every other byte as
// %xx in hexadecimal, and ".lock": "report/Daily" is in "report%2f%44aily.lock". Capitals are escaped for file systems
// that do not tell them from small letters; the first letter of a name that Windows reserves, as in "con", is escaped
// too. A name that becomes longer than 135 bytes is cut to a readable beginning, "~", and the SHA-256 of the whole name.
// No two different names share a file. A ".door" beside it belongs to shared leases and to those who wait.
package filelock
