package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	suspend "github.com/tenurelock/tenure/internal/process"
)

// RedisOptions say how a server differs from one that is made for quick tests.
type RedisOptions struct {
	// Settings are lines of redis.conf, each value as it stands there, several words if need be. They win over everything
	// else. With a requirepass, all that this package does with the server names the password.
	Settings map[string]string
}

// Redis is a Redis server that this process has started, or could start again. It keeps everything in memory unless its
// settings say otherwise: after Stop or Kill it comes back empty.
type Redis struct {
	server
	program string
	options RedisOptions
	primary *Redis   // of a replica when it was made
	paused  *process // the one that stands since Pause
	inCluster
}

// StartRedis starts a server for one test, and stops it when the test ends.
func StartRedis(t testing.TB, options RedisOptions) *Redis {
	t.Helper()
	r, err := OpenRedis(options)
	if err != nil {
		t.Fatal(err)
	}
	r.closeAfter(t)
	return r
}

// OpenRedis starts a server that the tests of a package share; TestMain calls it, and Close at the end.
func OpenRedis(options RedisOptions) (*Redis, error) {
	r, err := prepareRedis("redis", options)
	if err != nil {
		return nil, err
	}
	return r.opened()
}

// opened starts a server that is prepared. After an error nothing is left of it.
func (r *Redis) opened() (*Redis, error) {
	if err := r.startAnywhere(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// prepareRedis makes a server that does not run yet. It needs no root, and does not get it: whoever reaches the port can have
// it write files.
func prepareRedis(name string, options RedisOptions) (*Redis, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("Redis is missing, run scripts/install: %w", err)
	}
	options.Settings = maps.Clone(options.Settings)
	r := &Redis{program: program, options: options}
	r.server = server{
		name:      name,
		onDeath:   syscall.SIGKILL, // SIGTERM has it wait for its replicas
		configure: r.configure,
		command:   func() *exec.Cmd { return exec.Command(r.program, r.file()) },
		probe:     func(ctx context.Context) error { return probeRedis(ctx, r) },
	}
	return r, r.makeFolder()
}

func (r *Redis) file() string { return filepath.Join(r.dir, "redis.conf") }

// configure writes redis.conf. The server itself rewrites it when it is promoted or demoted, so that a restart keeps that.
func (r *Redis) configure() error {
	settings := r.basics()
	maps.Copy(settings, map[string]string{
		"save":                     "",
		"appendonly":               "no",
		"maxmemory-policy":         "noeviction",
		"repl-diskless-sync-delay": "0", // it would wait 5 s for more replicas to come
	})
	if r.password() != "" {
		settings["masterauth"] = r.options.Settings["requirepass"] // whoever follows whom
	}
	if r.primary != nil {
		settings["replicaof"] = fmt.Sprintf("127.0.0.1 %d", r.primary.port)
	}
	if err := r.chooseBusPort(settings); err != nil {
		return err
	}
	maps.Copy(settings, r.options.Settings)
	return r.write(r.file(), redisLines(settings))
}

// basics are the settings of servers and sentinels alike.
func (r *Redis) basics() map[string]string {
	return map[string]string{
		"bind":           "127.0.0.1",
		"port":           fmt.Sprint(r.port),
		"protected-mode": "no",
		"daemonize":      "no",
		"dir":            fmt.Sprintf("%q", r.dir),
	}
}

func redisLines(settings map[string]string) string {
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		value := settings[name]
		if value == "" {
			value = `""`
		}
		fmt.Fprintf(&lines, "%s %s\n", name, value)
	}
	return lines.String()
}

// password is what clients log in with, none if empty.
func (r *Redis) password() string { return strings.Trim(r.options.Settings["requirepass"], `"`) }

// URL leads to the database 0.
func (r *Redis) URL() string {
	to := url.URL{Scheme: "redis", Host: r.Address(), Path: "/0"}
	if password := r.password(); password != "" {
		to.User = url.UserPassword("", password)
	}
	return to.String()
}

// Stop shuts the server down in order: it waits for replicas that lag, up to its shutdown-timeout of 10 s, and saves if its
// settings say so. A server that stands since Pause goes on for that. Stopping one that does not run is no error.
func (r *Redis) Stop() error {
	return errors.Join(r.Continue(), r.stop(syscall.SIGTERM))
}

// Kill ends the server as a crash does, paused or not. If a child of it is saving at that moment, that goes on to its end.
func (r *Redis) Kill() error {
	if r.current() == nil {
		return errors.New("kill redis: it does not run")
	}
	return r.stop(os.Kill)
}

// Pause stops the server's process, as a machine does that swaps or migrates, and returns once it stands. Its connections
// stay open, and the system accepts more in its name.
func (r *Redis) Pause() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	running := r.process()
	switch {
	case running == nil:
		return errors.New("pause redis: it does not run")
	case running == r.paused:
		return nil
	}
	if err := suspend.Stop(running.pid()); err != nil {
		return err
	}
	r.paused = running
	return nil
}

// answers says that the server runs and is not paused.
func (r *Redis) answers() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	running := r.process()
	return running != nil && running != r.paused
}

// Continue ends Pause. For a server that is not paused, or does not run, it does nothing.
func (r *Redis) Continue() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	running := r.process()
	if running == nil || running != r.paused {
		return nil
	}
	r.paused = nil
	return suspend.Continue(running.pid())
}
