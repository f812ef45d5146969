package schema

// The statements of a driver that locks in sessions. Their results stand in their files; [Answer] says what to make of a
// number and a high.
var (
	// Acquire tries the key $1, and numbers the grant from the sequence $2: number, server time.
	Acquire = statement("acquire")
	// Draw numbers a lock that the connection holds from the sequence $1: number, server time, ceiling.
	Draw = statement("draw")
	// Numbers reads the numbering: whether it is valid, the sequence, the ceiling.
	Numbers = statement("numbers")
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
