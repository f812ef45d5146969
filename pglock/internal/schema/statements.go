package schema

// The statements of a driver that locks in sessions. Their results stand in their files; [Answer] says what to make of a
// number and a high.
var (
	// Acquire tries the key $1: number, high, server time.
	Acquire = statement("acquire")
	// AcquireShared tries the key $1, shared: the same.
	AcquireShared = statement("acquire_shared")
	// AcquireMany tries the keys $1 (bigint[]) in order, shared where $2 (boolean[]) says so: ord from 1, number, high, time.
	AcquireMany = statement("acquire_many")
	// AcquireSlot tries the keys $1 (bigint[]) in order up to the first that is free: one row as of AcquireMany, of the last
	// key that was tried; ord 0 for no keys.
	AcquireSlot = statement("acquire_slot")
	// Draw numbers a lock that the connection holds: number, high, server time.
	Draw = statement("draw")
	// Sweep deletes the rows of holding whose session is gone.
	Sweep = statement("sweep")
)

// statement reads an embedded file. That a name is wrong shows in every test.
func statement(name string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	return string(text)
}
