package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/internal/servers"
)

// patience bounds what a test waits for.
const patience = 40 * time.Second

// world is a database that changes servers, and its clients.
type world struct {
	t        testing.TB
	server   *servers.Postgres
	database string
	span     int64
	*history
	mutant
}

// mutant is a fault to put into what is tested.
type mutant struct {
	replace    []string // in the migrations: old, new, …
	settings   string   // of each connection
	server     map[string]string
	durable    bool
	clients    int // 32 if 0
	ignoreHigh bool
}

// newWorld starts a server with the schema. Its grants are a year ahead of the clock where ahead says so: then only the
// ceiling keeps them from falling.
func newWorld(t testing.TB, ahead bool, m mutant) *world {
	t.Helper()
	w := &world{
		t: t, server: servers.StartPostgres(t, servers.PostgresOptions{Durable: m.durable, Settings: m.server}), database: "tokens", span: Span,
		history: newHistory(), mutant: m,
	}
	if w.clients == 0 {
		w.clients = 32
	}
	w.server.SQL(t, "", "create database tokens")
	script, err := Script()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(m.replace); i += 2 {
		if !strings.Contains(script, m.replace[i]) {
			t.Fatalf("the schema has no %q to replace", m.replace[i])
		}
	}
	w.server.SQL(t, w.database, strings.NewReplacer(m.replace...).Replace(script))
	if ahead {
		w.server.SQL(t, w.database, fmt.Sprintf("select tenure.init_above(%d)", time.Now().AddDate(1, 0, 0).UnixMicro()))
	}
	return w
}

func (w *world) connect(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(w.server.URL(w.database))
	if err != nil {
		return nil, err
	}
	if w.settings != "" {
		config.RuntimeParams["options"] = w.settings
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		case <-tick.C:
		}
	}
}

// crowd is a number of clients that draw until they are stopped or their server is.
type crowd struct {
	w      *world
	before int // grants in the history when it began
	stop   chan struct{}
	ended  chan error // one of each client
	n      int
}

// gather connects n clients, and lets them go all at once.
func (w *world) gather(n int) (*crowd, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := &crowd{w: w, stop: make(chan struct{}), ended: make(chan error, n), n: n, before: w.len()}
	ready, begin := make(chan error, n), make(chan struct{})
	for i := range n {
		go func() {
			d := &drawer{w: w, key: int64(i % 12)}
			err := d.connect(ctx)
			ready <- err
			<-begin
			if err == nil {
				err = d.run(c.stop)
			}
			d.close()
			c.ended <- err
		}()
	}
	var err error
	for range n {
		err = errors.Join(err, <-ready)
	}
	if err != nil {
		close(c.stop)
	}
	close(begin)
	if err != nil {
		c.join()
		return nil, err
	}
	return c, nil
}

// draws waits until the crowd has been granted so many, or has given up.
func (c *crowd) draws(count int) error {
	deadline := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for c.w.len() < c.before+count {
		select {
		case <-tick.C:
		case err := <-c.ended:
			c.ended <- err
			return errors.Join(fmt.Errorf("a client ended after %d grants: %w", c.w.len()-c.before, err), c.disperse())
		case <-deadline:
			return errors.Join(fmt.Errorf("%d grants in %v", c.w.len()-c.before, patience), c.disperse())
		}
	}
	return nil
}

// join waits until all have ended, by themselves or because the server has.
func (c *crowd) join() (err error) {
	for range c.n {
		if e := <-c.ended; err == nil {
			err = e
		}
	}
	return err
}

// disperse stops all.
func (c *crowd) disperse() error {
	close(c.stop)
	return c.join()
}

// crowd lets all clients race into their first statement, draws count grants, stops them, and looks at all that was ever
// handed out.
func (w *world) crowd(count int) error {
	c, err := w.gather(w.clients)
	if err != nil {
		return err
	}
	if err := c.draws(count); err != nil {
		return err
	}
	if err := c.disperse(); err != nil {
		return err
	}
	return w.check()
}

// crowdUntil does so, and goes on until the event has ended the server, which is what ends the clients.
func (w *world) crowdUntil(count int, event func() error) error {
	c, err := w.gather(w.clients)
	if err != nil {
		return err
	}
	if err := c.draws(count); err != nil {
		return err
	}
	if err := event(); err != nil {
		return errors.Join(err, c.disperse())
	}
	_ = c.disperse() // of the lost connection
	return w.check()
}
