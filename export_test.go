package tenure

// Handed tells how often the lease's grant was handed on.
func Handed(l *Lease) int { return int(l.token & maxHandoffs) }
