package schema

import (
	"errors"
	"fmt"
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
	above := w.draw().Number
	for i := range 6 {
		above += 1e9
		if err := c.draws(150 * (i + 1)); err != nil {
			return err
		}
		if err := retried(w.t.Context(), func() error { return InitAbove(w.t.Context(), conn, above) }); err != nil {
			return errors.Join(err, c.disperse())
		}
		if a := w.draw(); a.Number <= above {
			return errors.Join(fmt.Errorf("%d was drawn after init above %d", a.Number, above), c.disperse())
		}
	}
	return errors.Join(c.disperse(), w.check())
}

// initAboveWhatIsDrawn raises the tokens to just above the last one, under clients that draw: between reading that one and
// setting the next, of which this makes a long time, nobody may draw.
func initAboveWhatIsDrawn(w *world) error {
	w.server.SQL(w.t, w.database, `do $$ begin execute replace(pg_get_functiondef('tenure.write_incarnation'::regproc),
		'perform setval', 'perform pg_sleep(0.2); perform setval'); end $$`)
	c, err := w.gather(w.clients)
	if err != nil {
		return err
	}
	conn := w.dial()
	for i := range 4 {
		if err := c.draws(50 * (i + 1)); err != nil {
			return err
		}
		above := w.draw().Number + 1
		w.server.SQL(w.t, w.database, fmt.Sprintf("begin; set local tenure.changing = true; update tenure.ceiling set high = %d; commit", above)) // or that is the floor
		if err := retried(w.t.Context(), func() error { return InitAbove(w.t.Context(), conn, above) }); err != nil {
			return errors.Join(err, c.disperse())
		}
	}
	return errors.Join(c.draws(400), c.disperse(), w.check())
}

// openedTwice opens where a valid incarnation is, which must stay.
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
