package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// seconds is a duration on the command line: "30s", "1h30m", "500ms", or a bare number of seconds, "30" or "0.5".
type seconds time.Duration

// Set reads one.
func (s *seconds) Set(text string) error {
	d, err := parseSeconds(text)
	*s = seconds(d)
	return err
}

// String gives it with its unit; nothing for zero, which the help then does not show as a default.
func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

// Type is what the help calls it.
func (*seconds) Type() string { return "duration" }

func parseSeconds(text string) (time.Duration, error) {
	if strings.HasPrefix(text, "-") {
		return 0, errors.New("a duration cannot be negative")
	}
	if text == "" || strings.Trim(text, "0123456789.") != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("%q is no duration: 30 and 30s are half a minute, 500ms half a second", text)
		}
		return d, nil
	}
	number, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no number of seconds", text)
	case number*1e9 >= math.MaxInt64:
		return 0, fmt.Errorf("%s seconds are too many: at most 292 years are possible", text)
	case number > 0 && number*1e9 < 1:
		return 0, fmt.Errorf("%s seconds are less than a nanosecond", text)
	}
	return time.Duration(math.Round(number * 1e9)), nil
}

// plain is a duration as a bare number of seconds, which parseSeconds and a shell's arithmetic understand.
func plain(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}
