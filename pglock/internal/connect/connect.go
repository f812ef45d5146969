// Package connect opens the connections of a PostgreSQL store: with the program's own configuration (TLS, hooks, passwords
// that rotate), the settings that a lock needs, and the raw socket of each at hand.
package connect

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Dialer opens connections of one configuration.
type Dialer struct {
	config *pgx.ConnConfig
	before func(context.Context, *pgx.ConnConfig) error
}

// New makes a dialer. It copies the configuration, which must come from pgx.ParseConfig. Before, if not nil, may change the
// copy for each connection: a password that rotates.
func New(config *pgx.ConnConfig, before func(context.Context, *pgx.ConnConfig) error) *Dialer {
	return &Dialer{config: config.Copy(), before: before}
}

// Conn is a new connection with its socket.
type Conn struct {
	*pgx.Conn
	// Socket is the connection below TLS and below any hook of the program's.
	Socket net.Conn
}

// Dial opens a connection. The error never repeats a password.
func (d *Dialer) Dial(ctx context.Context) (Conn, error) {
	config := d.config.Copy()
	if d.before != nil {
		if err := d.before(ctx, config); err != nil {
			return Conn{}, fmt.Errorf("BeforeConnect: %w", err)
		}
	}
	var socket net.Conn
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			socket = conn // where several are tried, the last one that opened is the one that is used
		}
		return conn, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return Conn{}, err
	}
	return Conn{conn, socket}, nil
}

// Address is the server and the database for people to read, without user and password.
func (d *Dialer) Address() string {
	c := d.config
	hosts := []string{hostPort(c.Host, c.Port)}
	for _, f := range c.Fallbacks {
		if host := hostPort(f.Host, f.Port); host != hosts[len(hosts)-1] {
			hosts = append(hosts, host)
		}
	}
	return "postgres://" + strings.Join(hosts, ",") + "/" + c.Database
}

func hostPort(host string, port uint16) string {
	if network, _ := pgconn.NetworkAddress(host, port); network == "unix" {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
