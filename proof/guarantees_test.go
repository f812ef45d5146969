package proof

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/filelock"
	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/memlock"
	"github.com/tenurelock/tenure/redislock"
)

const (
	guaranteesPage  = "../docs/guarantees.md"
	guaranteesBegin = "<!-- generated from driver.Guarantees by `make guarantees` -->\n"
	guaranteesEnd   = "<!-- end of what is generated -->\n"
)

// TestGuaranteesPage keeps docs/guarantees.md in step with what the drivers say of themselves.
func TestGuaranteesPage(t *testing.T) {
	files, err := filelock.Open(t.TempDir(), filelock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close(t.Context())
	memory := memlock.New(memlock.Options{})
	defer memory.Close(t.Context())
	url := servers.StartPostgres(t, servers.PostgresOptions{}).URL("")
	sessions, err := postgres(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer sessions.Close(t.Context())
	rows, err := postgres(t.Context(), url+"&tenure_mode=rows")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close(t.Context())
	primary, err := redislock.Open(t.Context(), servers.StartRedis(t, servers.RedisOptions{}).URL(), redislock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer primary.Close(t.Context())
	table := guaranteesTable([]column{
		{"PostgreSQL sessions", "PostgreSQL's session locks", sessions.Info().Guarantees},
		{"PostgreSQL rows", "PostgreSQL's lease rows", rows.Info().Guarantees},
		{"Redis", "Redis, one primary", primary.Info().Guarantees},
		{"directory", "the directory store", files.Info().Guarantees},
		{"memory", "the memory store", memory.Info().Guarantees},
	})

	page, err := os.ReadFile(guaranteesPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), guaranteesBegin)
	_, after, ended := strings.Cut(rest, guaranteesEnd)
	if !found || !ended {
		t.Fatalf("%s has no marks %q and %q", guaranteesPage, guaranteesBegin, guaranteesEnd)
	}
	want := before + guaranteesBegin + "\n" + table + "\n" + guaranteesEnd + after
	if *update {
		if err := os.WriteFile(guaranteesPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("%s is not what the drivers say; run make guarantees", guaranteesPage)
	}
}

type column struct {
	store, called string
	says          driver.Guarantees
}

func guaranteesTable(columns []column) string {
	var out strings.Builder
	row := func(title string, cell func(driver.Guarantees) string) {
		fmt.Fprintf(&out, "| %s |", title)
		for _, c := range columns {
			fmt.Fprintf(&out, " %s |", strings.ReplaceAll(cell(c.says), "|", "\\|"))
		}
		out.WriteString("\n")
	}
	out.WriteString("| |")
	for _, c := range columns {
		fmt.Fprintf(&out, " %s |", c.store)
	}
	out.WriteString("\n|" + strings.Repeat(" --- |", len(columns)+1) + "\n")
	row("a killed holder's name is freed by", func(g driver.Guarantees) string { return g.KilledHolder })
	row("a stalled holder's name is freed by", func(g driver.Guarantees) string { return g.StalledHolder })
	for _, event := range []struct {
		title  string
		effect func(driver.Guarantees) driver.Effect
	}{
		{"a crash of the store", func(g driver.Guarantees) driver.Effect { return g.Crash }},
		{"a clean restart", func(g driver.Guarantees) driver.Effect { return g.Restart }},
		{"a failover", func(g driver.Guarantees) driver.Effect { return g.Failover }},
		{"a step of the store's clock", func(g driver.Guarantees) driver.Effect { return g.ClockStep }},
	} {
		row(event.title+": the lock", func(g driver.Guarantees) string { return event.effect(g).Lock })
		row(event.title+": the tokens", func(g driver.Guarantees) string { return event.effect(g).Token })
	}
	row("order of waiting processes", func(g driver.Guarantees) string { return g.Order })
	row("a holder takes", func(g driver.Guarantees) string { return g.PerHolder })
	row("a waiter takes", func(g driver.Guarantees) string { return g.PerWaiter })
	row("`Options.Require` may name", func(g driver.Guarantees) string {
		return "`" + strings.ReplaceAll(g.Promises.String(), "|", "`, `") + "`"
	})
	for _, c := range columns {
		fmt.Fprintf(&out, "\nLimits of %s:\n\n", c.called)
		for _, limit := range c.says.Limits {
			fmt.Fprintf(&out, "- %s\n", limit)
		}
	}
	return out.String()
}
