package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"testing"
)

// Replica starts a server that follows this one, which must run, and returns once it has a copy and streams. It has none of
// this one's settings but the password. It stops when the test ends.
func (r *Redis) Replica(t testing.TB, options RedisOptions) *Redis {
	t.Helper()
	settings := map[string]string{}
	if r.password() != "" {
		settings["requirepass"] = r.options.Settings["requirepass"]
	}
	maps.Copy(settings, options.Settings)
	replica, err := prepareRedis("redis", RedisOptions{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	replica.primary = r
	replica.closeAfter(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := errors.Join(replica.startAnywhere(), replica.follows(ctx, r)); err != nil {
		t.Fatal(err)
	}
	return replica
}

// Follow makes this server a replica of another, and returns once it streams. What it has and the other has not is lost. A
// restart does not change that.
func (r *Redis) Follow(primary *Redis) error {
	return r.replicaOf(primary, "127.0.0.1", strconv.Itoa(primary.port))
}

// Promote makes a replica a primary. What it has not received is lost. A restart does not change that.
func (r *Redis) Promote() error { return r.replicaOf(nil, "NO", "ONE") }

// replicaOf returns once the server has a copy of the primary, if there is to be one.
func (r *Redis) replicaOf(primary *Redis, where ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := r.ask(ctx, append([]string{"REPLICAOF"}, where...)...); err != nil {
		return err
	}
	if _, err := r.ask(ctx, "CONFIG", "REWRITE"); err != nil {
		return err
	}
	if primary == nil {
		return nil
	}
	return r.follows(ctx, primary)
}

// follows waits until the link to the primary is up, which it is when the copy is complete.
func (r *Redis) follows(ctx context.Context, primary *Redis) error {
	return untilRedis(ctx, func(ctx context.Context) error {
		info, err := r.info(ctx, "replication")
		if err != nil {
			return err
		}
		if info["master_port"] != strconv.Itoa(primary.port) || info["master_link_status"] != "up" {
			return fmt.Errorf("the replica on port %d does not follow port %d: its link to port %s is %s",
				r.port, primary.port, info["master_port"], info["master_link_status"])
		}
		return nil
	})
}

// CaughtUp waits until a replica has all that its primary had written when CaughtUp was called.
func (r *Redis) CaughtUp(ctx context.Context, primary *Redis) error {
	written, err := primary.offset(ctx, "master_repl_offset")
	if err != nil {
		return err
	}
	if err := r.follows(ctx, primary); err != nil {
		return err
	}
	return untilRedis(ctx, func(ctx context.Context) error {
		has, err := r.offset(ctx, "slave_repl_offset")
		if err == nil && has < written {
			err = fmt.Errorf("the replica on port %d has %d of %d bytes", r.port, has, written)
		}
		return err
	})
}

// offset is a position in the stream of replication.
func (r *Redis) offset(ctx context.Context, name string) (int64, error) {
	info, err := r.info(ctx, "replication")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(info[name], 10, 64)
}
