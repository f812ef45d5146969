//go:build linux || darwin

package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/memlock"
)

// A run within a run does not hand on what the outer one says. (A script would not show it: every program on the way may
// remove duplicates, as Go does.)
func TestNoEntryTwice(t *testing.T) {
	store := memlock.New(memlock.Options{})
	locker, err := tenure.New(store, tenure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(locker.Close(context.Background()), store.Close(context.Background())); err != nil {
			t.Error(err)
		}
	}()
	lease, err := locker.Acquire(t.Context(), "inner")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"TENURE_LOCK", "TENURE_TOKEN", "TENURE_HOLDER", "TENURE_TTL", "TENURE_LOCKS"}
	for _, name := range names {
		t.Setenv(name, "outer")
	}
	var got []string
	for _, entry := range (&performance{settings: &settings{}}).environment(lease) {
		name, value, _ := strings.Cut(entry, "=")
		if slices.Contains(names, name) {
			got = append(got, name)
			if (value == "outer") != (name == "TENURE_LOCKS") { // which is not ours
				t.Errorf("%s is %q", name, value)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Errorf("it has %q, want each once", got)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
