package session

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// about is what is told of a holder, as it stands in the server.
func about(h *driver.Holder) string {
	if h == nil {
		return ""
	}
	text, err := json.Marshal(driver.Holder{Host: cut(h.Host), PID: h.PID, Program: cut(h.Program), Note: cut(h.Note)})
	if err != nil {
		return ""
	}
	return string(text)
}

// longest bounds each text of a description.
const longest = 1000

func cut(s string) string {
	if len(s) > longest {
		s = s[:longest]
	}
	return strings.ToValidUTF8(s, "?")
}

// shared is the value of a lock that readers have.
const sharedValue = "tenure:shared"

// parse reads an owner id. False: it is none of ours.
func parse(owner string) (session string, acq uint64, ours bool) {
	parts := strings.Split(owner, ":")
	if len(parts) != 4 || parts[0] != "tenure" {
		return "", 0, false
	}
	acq, err := strconv.ParseUint(parts[2], 10, 64)
	return parts[1], acq, err == nil && acq > 0
}

// holderOf describes who has a lock, by its value and its state "number|since|short|owner|about".
func holderOf(value, state string) driver.Holder {
	session, acq, ours := parse(value)
	if !ours {
		return driver.Holder{Foreign: value != sharedValue && value != ""}
	}
	parts := strings.SplitN(state, "|", 5)
	if len(parts) < 5 || parts[3] != value {
		return driver.Holder{Session: session, Acq: acq}
	}
	h := described(parts[4])
	h.Session, h.Acq = session, acq
	h.Number, h.Since = number(parts[0]), micros(parts[1])
	return h
}

// offered says whether a lock was handed on for a moment, to somebody who has not asked for it yet.
func offered(value, state string) bool {
	parts := strings.SplitN(state, "|", 5)
	return len(parts) == 5 && parts[3] == value && parts[2] == "1"
}

// lastHolder describes whose grant a state is of, though the lock may be free by now.
func lastHolder(state string) driver.Holder {
	if parts := strings.SplitN(state, "|", 5); len(parts) == 5 {
		return holderOf(parts[3], state)
	}
	return driver.Holder{}
}

// readerOf describes a reader by its share "number|since|about".
func readerOf(owner, share string) driver.Holder {
	parts := append(strings.SplitN(share, "|", 3), "", "", "")
	h := described(parts[2])
	h.Session, h.Acq, _ = parse(owner)
	h.Mode, h.Number, h.Since = driver.Shared, number(parts[0]), micros(parts[1])
	return h
}

// waiterOf describes a waiter by its record "ttl|interval|mode|since|about".
func waiterOf(owner, record string) driver.Holder {
	parts := append(strings.SplitN(record, "|", 5), "", "", "", "", "")
	h := described(parts[4])
	h.Session, h.Acq, _ = parse(owner)
	if h.Since = micros(parts[3]); parts[2] == "s" {
		h.Mode = driver.Shared
	}
	return h
}

func described(text string) (h driver.Holder) {
	_ = json.Unmarshal([]byte(text), &h) // what cannot be read was not written by us
	return driver.Holder{Host: h.Host, PID: h.PID, Program: h.Program, Note: h.Note}
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func micros(text string) time.Time {
	if us := number(text); us > 0 {
		return time.UnixMicro(us)
	}
	return time.Time{}
}
