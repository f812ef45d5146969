package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/internal/servers"
)

// scenario breaks a world, and gives an error where a token came twice or fell, or where no more are to be had.
type scenario func(w *world) error

// struck lets an event end the server under its clients.
func struck(event func(w *world) error) scenario {
	return func(w *world) error {
		if err := w.crowdUntil(200, func() error { return event(w) }); err != nil {
			return err
		}
		return w.crowd(200)
	}
}

var (
	killed = struck(func(w *world) error { return errors.Join(w.server.Kill(), w.server.Start()) })

	stoppedAtOnce = struck(func(w *world) error { return errors.Join(w.server.Stop("immediate"), w.server.Start()) })

	restarted = struck(func(w *world) error { return errors.Join(w.server.Stop("fast"), w.server.Start()) })

	// Killing one backend has the server end all others and empty what is unlogged; the postmaster, and with it the time of
	// its start, stays.
	backendKilled = struck(func(w *world) error {
		conn, err := w.connect(w.t.Context())
		if err != nil {
			return err
		}
		defer conn.Close(w.t.Context())
		return errors.Join(w.server.KillBackend(int(conn.PgConn().PID())), w.server.Ready(w.t.Context()))
	})
)

// opened kills the server as soon as the first number has come: what the opening wrote must have been durable.
func opened(w *world) error {
	for range 2 {
		if err := w.crowdUntil(1, func() error { return errors.Join(w.server.Kill(), w.server.Start()) }); err != nil {
			return err
		}
	}
	return w.crowd(100)
}

// ceilingPassed has a test-sized span, which is passed again and again, also before a crash.
func ceilingPassed(w *world) error {
	w.span = 40
	return killed(w)
}

// restartedAtTheCeiling leaves no room between the grants and the ceiling in which a fall would not be seen.
func restartedAtTheCeiling(w *world) error {
	w.span = 40
	return restarted(w)
}

// copied starts a copy of a server that was shut down and has gone on since.
func copied(w *world) error {
	if err := w.crowd(200); err != nil {
		return err
	}
	if err := w.server.Stop("fast"); err != nil {
		return err
	}
	backup := w.server.Copy(w.t.(*testing.T))
	if err := errors.Join(w.server.Start(), w.crowd(200), w.server.Kill(), backup.Start()); err != nil {
		return err
	}
	w.server = backup
	return w.crowd(200)
}

// restored puts a dump into the server that it is of, which has gone on since.
func restored(w *world) error {
	if err := w.crowd(200); err != nil {
		return err
	}
	dump := w.server.Dump(w.t, w.database, "--clean", "--if-exists")
	if err := w.crowd(200); err != nil {
		return err
	}
	w.server.Restore(w.t, w.database, dump)
	return w.crowd(400)
}

// restoredMeanwhile has clients come between the steps of a restore: an incarnation opened then would end with them.
func restoredMeanwhile(w *world) error {
	if err := w.crowd(20); err != nil {
		return err
	}
	dump := string(w.server.Dump(w.t, w.database, "--clean", "--if-exists"))
	if err := w.crowd(50); err != nil {
		return err
	}
	at := strings.Index(dump, "SELECT pg_catalog.setval('tenure.grants'")
	if at < 0 {
		return errors.New("the dump does not set the sequence")
	}
	w.server.Restore(w.t, w.database, []byte(dump[:at]))
	if err := Open(w.t.Context(), w.dial()); !Occupied(err) {
		if err := errors.Join(err, w.crowd(200)); err != nil {
			return err
		}
	}
	w.server.Restore(w.t, w.database, []byte("set search_path = '';\n"+dump[at:]))
	return w.crowd(100)
}

// emptied loses the data of the schema, as the dump of a schema alone does.
func emptied(w *world) error {
	if err := w.crowd(200); err != nil {
		return err
	}
	dump := w.server.Dump(w.t, w.database, "--clean", "--if-exists", "--schema-only")
	w.server.Restore(w.t, w.database, dump)
	if err := w.crowd(200); err != nil {
		return err
	}
	// The incarnation is still valid here, and grants may be ahead of the clock.
	w.server.SQL(w.t, w.database, "select tenure.init_above((select high from tenure.ceiling) + 100000000000)")
	if err := w.crowd(200); err != nil {
		return err
	}
	w.server.SQL(w.t, w.database, "delete from tenure.ceiling")
	return w.crowd(200)
}

// promoted fails over to a standby that lags, and then to another that lags more and ends up on the same timeline.
func promoted(w *world) error {
	first := w.server.Standby(w.t, servers.PostgresOptions{})
	second := w.server.Standby(w.t, servers.PostgresOptions{})
	if err := errors.Join(second.StopReplication(), w.crowd(200), first.StopReplication()); err != nil {
		return err
	}
	if err := w.crowdUntil(200, w.server.Kill); err != nil {
		return err
	}
	if err := first.Promote(); err != nil {
		return err
	}
	w.server = first
	if err := w.crowdUntil(200, w.server.Kill); err != nil {
		return err
	}
	if err := second.Promote(); err != nil {
		return err
	}
	w.server = second
	return w.crowd(200)
}

// moved upgrades the server after a failover, and then takes a dump to another.
func moved(w *world) error {
	standby := w.server.Standby(w.t, servers.PostgresOptions{})
	if err := w.crowd(200); err != nil {
		return err
	}
	if err := errors.Join(standby.CaughtUp(w.t.Context()), w.server.Kill(), standby.Promote()); err != nil {
		return err
	}
	w.server = standby
	if err := errors.Join(w.crowd(200), standby.Stop("fast")); err != nil {
		return err
	}
	w.server = standby.Upgrade(w.t)
	if err := w.crowd(200); err != nil {
		return err
	}
	dump := w.server.Dump(w.t, w.database)
	w.server = servers.StartPostgres(w.t, servers.PostgresOptions{})
	w.server.SQL(w.t, "", "create database tokens")
	w.server.Restore(w.t, w.database, dump)
	return w.crowd(200)
}

// fromTemplate copies the database inside the server, lets the original go on, and puts the copy in its place.
func fromTemplate(w *world) error {
	if err := w.crowd(200); err != nil {
		return err
	}
	for _, strategy := range []string{"wal_log", "file_copy"} {
		w.server.SQL(w.t, "", "create database copied template tokens strategy "+strategy)
		if err := w.crowd(200); err != nil {
			return err
		}
		w.server.SQL(w.t, "", "drop database tokens with (force); alter database copied rename to tokens")
		if err := w.crowd(200); err != nil {
			return err
		}
	}
	return nil
}

// initAbove sets the tokens upwards under clients that draw.
func initAbove(w *world) error {
	c, err := w.gather(16)
	if err != nil {
		return err
	}
	conn, err := w.connect(w.t.Context())
	if err != nil {
		return errors.Join(err, c.disperse())
	}
	defer conn.Close(w.t.Context())
	above := time.Now().UnixMicro()
	for i := range 6 {
		above += 1e9
		if err := c.draws(150 * (i + 1)); err != nil {
			return err
		}
		if err := retried(w.t.Context(), func() error { return InitAbove(w.t.Context(), conn, above) }); err != nil {
			return errors.Join(err, c.disperse())
		}
		var a Answer
		if err := conn.QueryRow(w.t.Context(), Draw, pgx.QueryExecModeExec).Scan(&a.Number, &a.High, nil); err != nil {
			return errors.Join(err, c.disperse())
		}
		if a.Number <= above {
			return errors.Join(fmt.Errorf("%d was drawn after init above %d", a.Number, above), c.disperse())
		}
	}
	return errors.Join(c.disperse(), w.check())
}

// initAboveWaits has a statement hang that has read the base and not yet drawn, so that it would draw a number that has
// fallen: init above must not go past it.
func initAboveWaits(w *world) error {
	if err := w.crowd(50); err != nil {
		return err
	}
	holder, drawing, admin, ctx := w.dial(), w.dial(), w.dial(), w.t.Context()
	if _, err := holder.Exec(ctx, "select pg_advisory_lock(99)"); err != nil {
		return err
	}
	drawn := make(chan error, 1)
	var number int64
	go func() {
		drawn <- drawing.QueryRow(ctx, `select case when pg_advisory_lock(99)::text = '' then s.base + nextval('tenure.grants') end
			from tenure.scale s`).Scan(&number)
	}()
	for waiting := false; !waiting; {
		err := holder.QueryRow(ctx, "select exists (select from pg_locks where locktype = 'advisory' and not granted)").Scan(&waiting)
		if err != nil {
			return err
		}
	}
	above := time.Now().AddDate(0, 1, 0).UnixMicro()
	early := InitAbove(ctx, admin, above)
	if _, err := holder.Exec(ctx, "select pg_advisory_unlock(99)"); err != nil {
		return err
	}
	if err := <-drawn; err != nil {
		return err
	}
	if !Occupied(early) {
		return fmt.Errorf("init above %d under a statement that then drew %d: %v", above, number, early)
	}
	if err := InitAbove(ctx, admin, above); err != nil {
		return err
	}
	if a := w.answer(Draw); a.Number <= above {
		return fmt.Errorf("%d was drawn after init above %d", a.Number, above)
	}
	return w.crowd(50)
}

// openedTwice opens where a valid incarnation is: statements may be drawing over it, so it must stay.
func openedTwice(w *world) error {
	if err := w.crowd(50); err != nil {
		return err
	}
	all := "select i::text || c::text from tenure.incarnation i, tenure.ceiling c"
	before := w.server.SQL(w.t, w.database, all)
	if err := Open(w.t.Context(), w.dial()); err != nil {
		return err
	}
	if after := w.server.SQL(w.t, w.database, all); after != before {
		return fmt.Errorf("opening changed %s into %s", before, after)
	}
	return nil
}

// openedBehind opens while another is at it, and must find the other's incarnation instead of writing over it.
func openedBehind(w *world) error {
	first, second, watcher, ctx := w.dial(), w.dial(), w.dial(), w.t.Context()
	var before, after string
	row := "select i::text from tenure.incarnation i"
	if _, err := first.Exec(ctx, "begin; select tenure.open_incarnation()"); err != nil {
		return err
	}
	if err := first.QueryRow(ctx, row).Scan(&before); err != nil {
		return err
	}
	opened := make(chan error, 1)
	go func() { opened <- Open(ctx, second) }()
	for waiting := false; !waiting; {
		if err := watcher.QueryRow(ctx, "select exists (select from pg_locks where not granted)").Scan(&waiting); err != nil {
			return err
		}
	}
	if _, err := first.Exec(ctx, "commit"); err != nil {
		return err
	}
	if err := <-opened; err != nil {
		return err
	}
	if err := watcher.QueryRow(ctx, row).Scan(&after); err != nil {
		return err
	}
	if after != before {
		return fmt.Errorf("an opening behind another changed %s into %s", before, after)
	}
	return w.crowd(50)
}

// TestTokens: those of a name never repeat and never fall, over any of these, for 32 clients that race into the first
// statement after each. "Ahead": the clock is of no help.
func TestTokens(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		run   scenario
		ahead bool
	}{
		{"H42 SIGKILL of the server", killed, true},
		{"H42 SIGKILL of a backend", backendKilled, true},
		{"H42 immediate stop", stoppedAtOnce, true},
		{"clean restart", restarted, true},
		{"clean restart with little room", restartedAtTheCeiling, true},
		{"SIGKILL right after an opening", opened, true},
		{"H42 the ceiling is passed", ceilingPassed, true},
		{"H42 two standbys that lag are promoted in turn", promoted, false},
		{"H64 pg_upgrade and dump after a promotion", moved, true},
		{"H77 a dump into the running server", restored, false},
		{"H77 between the steps of a restore", restoredMeanwhile, false},
		{"a copy of the data folder", copied, false},
		{"the ceiling is emptied", emptied, false},
		{"create database from a template", fromTemplate, false},
		{"init above, again and again", initAbove, false},
		{"H72 init above under a running statement", initAboveWaits, false},
		{"an opening where none is needed", openedTwice, true},
		{"an opening behind another", openedBehind, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := test.run(newWorld(t, test.ahead, mutant{durable: strings.Contains(test.name, "SIGKILL")})); err != nil {
				t.Error(err)
			}
		})
	}
}
