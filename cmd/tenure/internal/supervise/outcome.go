package supervise

// Reason is why a command came to its end.
type Reason int

// The reasons, the later ones beating the earlier.
const (
	Finished    Reason = iota // by itself, or by a signal that was sent to it
	NoGuardian                // the guardian died, and nobody could have ended the command in our place
	HeldTooLong               // the time of --max-hold was up
	RanOut                    // the lock was about to be lost: renewals had failed for too long
	LostLock                  // the lock was lost
)

// Outcome is how it went.
type Outcome struct {
	// Status is the command's exit status, or 128 and the number of the signal that ended it.
	Status int
	Reason Reason
	// Lost is why the lock was lost, if it was.
	Lost error
	// NotRun is why the command could not be run at all; Status is then 126 or 127.
	NotRun error
}

// String says it to a user.
func (r Reason) String() string {
	switch r {
	case NoGuardian:
		return "the guardian died"
	case HeldTooLong:
		return "the lock was held for as long as --max-hold allows"
	case RanOut:
		return "the lock could not be renewed in time"
	case LostLock:
		return "the lock was lost"
	}
	return "finished"
}
