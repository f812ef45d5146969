package schema

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

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
	above := w.answer(Draw).Number
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
		return fmt.Errorf("init above %d under a statement that then drew %d: %w", above, number, early)
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
