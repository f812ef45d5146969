package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/open"
)

// The exit statuses that are ours. 64 to 78 are those of sysexits.h; the next number is free everywhere.
const (
	statusUsage       = 64 // the command line is wrong
	statusUnavailable = 69 // the store cannot be reached, or cannot be used
	statusInternal    = 70 // our own fault: the guardian died
	statusNotAcquired = 75 // somebody else has the lock; see --conflict-exit-code
	statusLost        = 79 // the lock was lost, or was about to be, while the command ran
)

// failure is an error with the exit status that it deserves. Without an error, everything was said.
type failure struct {
	status int
	err    error
}

// Error is what is said.
func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

// Unwrap gives the error.
func (f *failure) Unwrap() error { return f.err }

func usage(format string, args ...any) error {
	return &failure{statusUsage, fmt.Errorf(format, args...)}
}

// exit ends the program with a status and no more words.
func exit(status int) error {
	if status == 0 {
		return nil
	}
	return &failure{status: status}
}

// judge gives the exit status of an error, and what to say.
func judge(err error) (status int, text string) {
	if err == nil {
		return 0, ""
	}
	text = strings.TrimSuffix(inOneLine(withoutPackage(err.Error())), ": "+tenure.ErrInvalid.Error())
	if fail := (*failure)(nil); errors.As(err, &fail) {
		return fail.status, text
	}
	return statusOf(err), text
}

// withoutPackage leaves out which package an error is from: its user has a command.
func withoutPackage(text string) string {
	return strings.TrimPrefix(strings.TrimPrefix(text, "tenure: "), "pglock: ")
}

// inOneLine joins the lines of an error, such as one for each address that was tried, and says nothing twice.
func inOneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) < 2 {
		return text
	}
	return lines[0] + " " + strings.Join(lines[1:], "; ")
}

// statusOf gives the status of an error of the library. What is left over is cobra's: an unknown command, too many
// arguments.
func statusOf(err error) int {
	var fault *driver.Fault
	switch {
	case errors.Is(err, tenure.ErrHeld), errors.Is(err, tenure.ErrDone):
		return statusNotAcquired
	case errors.Is(err, tenure.ErrInvalid), errors.Is(err, tenure.ErrUnsupported), errors.Is(err, open.ErrURL):
		return statusUsage
	case errors.Is(err, tenure.ErrUnavailable), errors.As(err, &fault):
		return statusUnavailable
	}
	return statusUsage
}
