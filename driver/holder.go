package driver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Self describes this process: host, process id and the program's name without its arguments.
func Self() Holder {
	host, _ := os.Hostname() // an empty host is a description too
	return Holder{Host: host, PID: os.Getpid(), Program: filepath.Base(os.Args[0])}
}

// String gives what is known in one line: "report pid 4711 on web-1 (nightly), since 12:30:05".
func (h Holder) String() string {
	var said []string
	if h.Program != "" {
		said = append(said, h.Program)
	}
	if h.PID != 0 {
		said = append(said, fmt.Sprintf("pid %d", h.PID))
	}
	if h.Host != "" {
		said = append(said, "on "+h.Host)
	}
	if h.Note != "" {
		said = append(said, "("+h.Note+")")
	}
	if h.Foreign {
		said = append(said, "(another program's lock)")
	}
	if len(said) == 0 {
		said = append(said, "an unknown holder")
	}
	line := strings.Join(said, " ")
	if !h.Since.IsZero() {
		line += ", since " + h.Since.Local().Format(time.DateTime)
	}
	return line
}
