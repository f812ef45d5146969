// Package tenure holds distributed locks, leases and leader election.
package tenure
