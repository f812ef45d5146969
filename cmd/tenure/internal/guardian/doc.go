// Package guardian ends the command before the lease can pass on, when "tenure run" itself cannot: because it was killed
// or stopped.
//
// The guardian is a process of its own, in a session of its own. It holds duplicates of the descriptors on which the grant
// depends (a lock file, the sockets of a session), so the store cannot see the wrapper die before the guardian lets go of
// them; it knows the command's process group, and the instant at which the group must be dead.
//
//	the wrapper is killed      its end of the socket closes: TERM, and KILL after the grace or at the deadline
//	the wrapper is stopped     no later deadline comes: KILL at the deadline
//	the guardian is killed     the wrapper sees it, and ends the group itself
//
// Only when no member of the group lives does it unlock the files, shut down the sockets (a stopped wrapper still has
// them open), and end.
package guardian
