package rows

import (
	_ "embed"
	"strings"
)

// The statements. Each is one transaction of its own.
var (
	//go:embed sql/acquire.sql
	acquireSQL string
	//go:embed sql/renew.sql
	renewSQL string
	//go:embed sql/release.sql
	releaseSQL string
	//go:embed sql/inspect.sql
	inspectSQL string
	//go:embed sql/clean.sql
	cleanSQL string
)

// statements are what is sent: the same without comments and indentation, which would go over the wire each time.
type statements struct{ acquire, renew, release, inspect, clean string }

func newStatements() statements {
	return statements{
		acquire: terse(acquireSQL), renew: terse(renewSQL), release: terse(releaseSQL),
		inspect: terse(inspectSQL), clean: terse(cleanSQL),
	}
}

func terse(sql string) string {
	var lines []string
	for line := range strings.Lines(sql) {
		line, _, _ = strings.Cut(line, "--") // our statements have no other use for it
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
