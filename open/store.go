package open

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/filelock"
	"github.com/tenurelock/tenure/memlock"
)

// ErrURL says that a URL can never be right. The text says what would be.
var ErrURL = errors.New("not a store's URL")

// known is what an error offers.
const known = "postgres://user@host/database, redis://host:6379/0, file:///directory, file:directory, /directory, ./directory or memory:"

// elsewhere are the schemes of stores for which this build has no driver.
var elsewhere = map[string]string{
	"redlock": "a quorum of Redis servers", "valkey": "Valkey (write redis)", "etcd": "etcd", "etcds": "etcd",
}

var redisSchemes = []string{"redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"}

// Options are those of [Store] and [Default]. The zero value is good.
type Options struct {
	// TTL is the default of a Locker's TTL, for stores whose sessions have one. Default: the store's.
	TTL time.Duration
}

// Store opens the store that a URL names. An error that wraps [ErrURL] says that the URL is wrong; any other comes from
// the store.
func Store(ctx context.Context, address string, opts Options) (driver.Store, error) {
	kind, err := Kind(address)
	if err != nil {
		return nil, err
	}
	switch kind {
	case Postgres:
		return postgres(ctx, address, opts)
	case Redis:
		return redis(ctx, address, opts)
	case Memory:
		return memory(address, opts)
	}
	dir, ok := plainPath(address)
	if !ok {
		if dir, err = fileURL(address); err != nil {
			return nil, err
		}
	}
	return directory(dir, opts)
}

// The kinds of stores that a URL can name.
const (
	Directory = "directory"
	Memory    = "memory"
	Postgres  = "postgres"
	Redis     = "redis"
)

// Kind says which kind of store a URL names. It looks at the scheme alone; the error wraps [ErrURL].
func Kind(address string) (string, error) {
	if _, ok := plainPath(address); ok {
		return Directory, nil
	}
	scheme, _, found := strings.Cut(address, ":")
	scheme = strings.ToLower(scheme)
	switch {
	case address == "":
		return "", wrong("it is empty; %s are right", known)
	case !found || !isScheme(scheme):
		return "", wrong("it has no scheme; %s are right", known)
	case scheme == "postgres", scheme == "postgresql":
		return Postgres, nil
	case slices.Contains(redisSchemes, scheme):
		return Redis, nil
	case scheme == "file":
		return Directory, nil
	case scheme == "memory":
		return Memory, nil
	case elsewhere[scheme] != "":
		return "", wrong("%q means %s, for which this build has no driver; %s are right", scheme, elsewhere[scheme], known)
	}
	return "", wrong("nobody knows the scheme %q; %s are right", scheme, known)
}

func directory(dir string, opts Options) (driver.Store, error) {
	store, err := filelock.Open(dir, filelock.Options{TTL: opts.TTL})
	if err != nil {
		return nil, err
	}
	return store, nil
}

func memory(address string, opts Options) (driver.Store, error) {
	if !slices.Contains([]string{"memory:", "memory://"}, strings.ToLower(address)) {
		return nil, wrong("nothing follows %q", "memory:")
	}
	return memlock.New(memlock.Options{TTL: opts.TTL}), nil
}

// fileURL gives the directory that a file URL names.
func fileURL(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil: // it repeats the URL
		return "", wrong("a file URL has %% only before two hexadecimal digits, and no control characters")
	case u.User != nil:
		return "", wrong("a file URL has neither user nor password")
	case u.Host != "" && !strings.EqualFold(u.Host, "localhost"):
		return "", wrong("a file URL names no host: file:///directory is absolute, file:directory is relative")
	case u.RawQuery != "" || u.ForceQuery:
		return "", wrong("a file URL has no query; write %%3F for a question mark in a directory's name")
	case u.Fragment != "" || strings.HasSuffix(address, "#"):
		return "", wrong("a file URL has no fragment; write %%23 for a # in a directory's name")
	}
	dir := u.Path
	if u.Opaque != "" {
		if dir, err = url.PathUnescape(u.Opaque); err != nil {
			return "", wrong("a file URL has %% only before two hexadecimal digits")
		}
	}
	switch {
	case dir == "" || u.Host != "" && dir == "/":
		return "", wrong("a file URL names a directory: file:///directory or file:directory")
	case strings.ContainsRune(dir, 0):
		return "", wrong("no directory has a NUL in its name")
	}
	return local(dir), nil
}

func isScheme(s string) bool {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", c)) {
			return false
		}
	}
	return s != ""
}

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrURL}, args...)...)
}
