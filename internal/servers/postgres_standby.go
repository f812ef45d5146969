package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// Standby starts a server that streams from this one, which must run, and returns once it does. The standby
// has none of this one's settings, except where it could not start with less. It stops when the test ends.
func (p *Postgres) Standby(t testing.TB, options PostgresOptions) *Postgres {
	t.Helper()
	settings := map[string]string{}
	for _, name := range []string{ // a standby with less of these does not start
		"max_connections", "max_worker_processes", "max_wal_senders", "max_prepared_transactions", "max_locks_per_transaction",
	} {
		if value, ok := p.options.Settings[name]; ok {
			settings[name] = value
		}
	}
	maps.Copy(settings, options.Settings)
	options.Settings = settings

	s := prepareForTest(t, options)
	s.primary, s.standbyName = p, "standby_"+strings.ToLower(rand.Text()[:8])
	backup := s.Program("pg_basebackup", "-D", s.data(), "-d", p.conninfo(), "--checkpoint=fast", "--no-sync")
	backup.Dir = s.dir
	s.account.run(backup)
	if _, err := run(backup, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.write(filepath.Join(s.data(), "standby.signal"), ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := errors.Join(s.startAnywhere(), s.streams(ctx)); err != nil {
		t.Fatal(err)
	}
	return s
}

// Synchronous has every commit on the primary wait until this standby has it, and no other. It returns once that holds.
func (p *Postgres) Synchronous() error {
	set := "alter system set synchronous_standby_names = '" + p.standbyName + "'; select pg_reload_conf()"
	if _, err := p.primary.sql("", set); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	state := "select sync_state from pg_stat_replication where application_name = '" + p.standbyName + "'"
	if err := p.primary.until(ctx, state, "sync"); err != nil {
		return err
	}
	// Commits wait once the checkpointer has read the settings too. It does so before the next checkpoint, which a session
	// asks for that begins after the server has told all its processes.
	_, err := p.primary.sql("", "checkpoint")
	return err
}

// StandbyName is the name of a standby in its primary's synchronous_standby_names and pg_stat_replication.
func (p *Postgres) StandbyName() string { return p.standbyName }

func (p *Postgres) conninfo() string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=postgres sslmode=disable", p.port)
}

// streams waits until the primary knows that the standby follows.
func (p *Postgres) streams(ctx context.Context) error {
	return p.primary.until(ctx, "select state from pg_stat_replication where application_name = '"+p.standbyName+"'", "streaming")
}

// CaughtUp waits until a standby shows all that its primary had written when CaughtUp was called.
func (p *Postgres) CaughtUp(ctx context.Context) error {
	written, err := p.primary.sql("", "select pg_current_wal_insert_lsn()")
	if err != nil {
		return err
	}
	return p.until(ctx, "select pg_last_wal_replay_lsn() >= '"+written+"'", "t")
}

// Promote makes a standby a primary, and returns once it can be written to. What it has not received is lost.
func (p *Postgres) Promote() error {
	// It waits until the standby has replayed what it has.
	promoted, err := p.sql("", "select pg_promote(true, 60)")
	if err == nil && promoted != "t" {
		err = errors.New("it has not become a primary within 60 s")
	}
	if err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	return nil
}

// PauseReplay has a standby receive and keep what the primary writes, but not show it. Promote shows it after all.
func (p *Postgres) PauseReplay() error {
	if _, err := p.sql("", "select pg_wal_replay_pause()"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return p.until(ctx, "select pg_get_wal_replay_pause_state()", "paused")
}

// ResumeReplay ends PauseReplay. CaughtUp waits for its effect.
func (p *Postgres) ResumeReplay() error {
	_, err := p.sql("", "select pg_wal_replay_resume()")
	return err
}

// StopReplication takes a standby off its primary: what the primary writes after StopReplication has returned, the standby
// does not get, and after Promote it is lost. The primary sees that the standby is gone.
//
// Stopping the receiver's process with a signal would not do: it still has what its socket holds, which it would take when
// the promotion makes it end, and as long as it stands the promotion waits for it.
func (p *Postgres) StopReplication() error {
	if _, err := p.sql("", "alter system set primary_conninfo = ''; select pg_reload_conf()"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return p.until(ctx, "select count(*) from pg_stat_wal_receiver", "0")
}

// ResumeReplication ends StopReplication, and returns once the standby streams again.
func (p *Postgres) ResumeReplication() error {
	if _, err := p.sql("", "alter system reset primary_conninfo; select pg_reload_conf()"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return p.streams(ctx)
}
