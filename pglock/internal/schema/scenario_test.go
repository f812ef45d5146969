package schema

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

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

// narrow gives the world a test-sized span, from now on.
func narrow(w *world) {
	w.span = 40
	w.server.SQL(w.t, w.database, "select tenure.init_above((select high from tenure.ceiling), 40)")
}

// ceilingPassed passes the ceiling again and again, also before a crash.
func ceilingPassed(w *world) error {
	narrow(w)
	return killed(w)
}

// restartedAtTheCeiling leaves no room between the grants and the ceiling in which a fall would not be seen.
func restartedAtTheCeiling(w *world) error {
	narrow(w)
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

// restoredData puts the rows of a dump back into the schema, which has gone on since, and keeps triggers from noticing. It sets
// the sequence back, too, which only those who come later can know.
func restoredData(w *world) error {
	if err := w.crowd(200); err != nil {
		return err
	}
	dump := w.server.Dump(w.t, w.database, "--data-only", "--disable-triggers", "--schema=tenure")
	if err := w.crowd(200); err != nil {
		return err
	}
	w.server.SQL(w.t, w.database, `set session_replication_role = replica; do $$ begin execute (select 'truncate ' || string_agg(oid::regclass::text, ', ')
		from pg_class where relnamespace = 'tenure'::regnamespace and relkind = 'r'); end $$`)
	w.server.Restore(w.t, w.database, dump)
	return w.crowd(400)
}

// restoredDataLive does so in one transaction, under clients that draw.
func restoredDataLive(w *world) error {
	if err := w.crowd(200); err != nil {
		return err
	}
	dump := w.server.Dump(w.t, w.database, "--data-only", "--schema=tenure")
	c, err := w.gather(w.clients)
	if err != nil {
		return err
	}
	if err := c.draws(300); err != nil {
		return err
	}
	tables := w.server.SQL(w.t, w.database, `select string_agg(oid::regclass::text, ', ') from pg_class
		where relnamespace = 'tenure'::regnamespace and relkind = 'r'`)
	w.server.Restore(w.t, w.database, slices.Concat([]byte("begin; truncate "+tables+";\n"), dump, []byte("\ncommit;\n")))
	return errors.Join(c.draws(800), c.disperse(), w.check())
}

// ceilingEmptied has somebody delete the ceiling under clients that draw on, and then kills the server.
func ceilingEmptied(w *world) error {
	c, err := w.gather(w.clients)
	if err != nil {
		return err
	}
	if err := c.draws(200); err != nil {
		return err
	}
	w.server.SQL(w.t, w.database, "delete from tenure.ceiling")
	if err := c.draws(w.len() - c.before + 200); err != nil {
		return err
	}
	if err := errors.Join(w.server.Kill(), w.server.Start()); err != nil {
		return errors.Join(err, c.disperse())
	}
	_ = c.disperse() // of the lost connection
	return errors.Join(w.check(), w.crowd(200))
}

// madeAnew has somebody drop the sequence and make it again.
func madeAnew(w *world) error {
	if err := w.crowd(200); err != nil {
		return err
	}
	w.server.SQL(w.t, w.database, "drop sequence tenure.grants; create unlogged sequence tenure.grants")
	return w.crowd(200)
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
	// The dump's first lines restrict what psql takes, until its last.
	restrict := regexp.MustCompile(`(?m)^\\restrict .*\n`).FindString(dump)
	w.server.Restore(w.t, w.database, []byte(restrict+dump[at:]))
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
		w.server.SQL(w.t, "", "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'tokens'")
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
