package schema

import "strings"

// Reason says why the schema cannot be used.
type Reason string

// The reasons. All last until somebody does something about them.
const (
	Missing    Reason = "missing"    // there is no schema
	Outdated   Reason = "outdated"   // it is older than this program
	Newer      Reason = "newer"      // it is newer than this program
	Permission Reason = "permission" // the role lacks a right
	Damaged    Reason = "damaged"    // something in it is not as Migrate left it
	Standby    Reason = "standby"    // the server is one
	ReadOnly   Reason = "read-only"  // the database or the server is
	TooOld     Reason = "old server" // the server lacks what tokens need
)

// Error says why the schema cannot be used, and what would be right.
type Error struct {
	Reason  Reason
	Message string
	// SQL, if not empty, is what an administrator must run in this database so that this role can go on.
	SQL string

	curable bool // by Migrate, and this role may run it
}

// Error gives the message, and the statements behind it where they fit on a line or a few.
func (e *Error) Error() string {
	switch {
	case e.SQL == "":
		return e.Message
	case strings.Count(e.SQL, "\n") > 12:
		return e.Message + "; who may, can run: tenure init --role ROLE (with --print it says what that is in SQL)"
	}
	return e.Message + "; an administrator must run: " + strings.ReplaceAll(e.SQL, "\n", " ")
}
