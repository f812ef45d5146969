package schema

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// right is what a role needs on one object of the schema to lock and to inspect.
type right struct {
	kind       string // TABLE, SEQUENCE or FUNCTION, as GRANT says it
	name       string
	arguments  string // of a function
	privileges []string
}

// rights lists every object of the schema that the statements use. What needs more than a role should have, such as the
// token's tables, is changed by functions that run as their owner.
func rights() []right {
	read := []string{"SELECT"}
	write := []string{"SELECT", "INSERT", "UPDATE", "DELETE"}
	execute := []string{"EXECUTE"}
	return []right{
		{kind: "TABLE", name: "migration", privileges: read},
		{kind: "TABLE", name: "ceiling", privileges: read},
		{kind: "SEQUENCE", name: "grants", privileges: []string{"USAGE"}},
		{kind: "FUNCTION", name: "numbering", arguments: "()", privileges: execute},
		{kind: "FUNCTION", name: "open_incarnation", arguments: "(bigint)", privileges: execute},
		{kind: "FUNCTION", name: "raise_ceiling", arguments: "(bigint)", privileges: execute},
		{kind: "TABLE", name: "name", privileges: write},
		{kind: "TABLE", name: "holding", privileges: write},
		{kind: "TABLE", name: "ran", privileges: write},
		{kind: "TABLE", name: "lease", privileges: write},
		{kind: "TABLE", name: "waiter", privileges: write},
	}
}

// withheld names what no role gets by Grants: what functions do with their owner's rights, and what is for administrators.
func withheld() []string {
	return []string{"incarnation", "disturbed", "begin_change", "last_drawn", "write_incarnation", "init_above"}
}

// Grants gives the statements that let a role lock, inspect and write its fences, and no more: it can neither change the
// schema nor set the tokens. An administrator runs them once; a role that owns the schema does not need them. They are to
// be run again after a migration that brought new tables.
func Grants(role string) string {
	statements := []string{"GRANT USAGE ON SCHEMA tenure TO " + quoted(role) + ";"}
	for _, r := range rights() {
		statements = append(statements, r.grant(role, r.privileges))
	}
	return strings.Join(statements, "\n")
}

func (r right) grant(role string, privileges []string) string {
	return "GRANT " + strings.Join(privileges, ", ") + " ON " + r.kind + " tenure." + r.name + r.arguments + " TO " +
		quoted(role) + ";"
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// missing turns the rights that are lacking, each with one privilege, into as few statements as they take.
func missing(role string, lacking []right) string {
	var statements []string
	for len(lacking) > 0 {
		first := lacking[0]
		same := func(r right) bool { return r.kind == first.kind && r.name == first.name }
		var privileges []string
		for _, r := range lacking {
			if same(r) {
				privileges = append(privileges, r.privileges...)
			}
		}
		lacking = slices.DeleteFunc(lacking, same)
		statements = append(statements, first.grant(role, privileges))
	}
	return strings.Join(statements, "\n")
}
