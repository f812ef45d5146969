//go:build unix

package session

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/pglock/internal/connect"
)

// configure writes a file into the folder of a server's data, for its account to read.
func configure(t *testing.T, of *servers.Postgres, name string, content []byte) string {
	t.Helper()
	data := filepath.Join(of.Dir(), "data")
	path := filepath.Join(data, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	owner, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	if stat, ok := owner.Sys().(*syscall.Stat_t); ok {
		if err := os.Chown(path, int(stat.Uid), int(stat.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// encrypted gives a server that takes TLS only, and the file of the certificate that its clients trust.
func encrypted(t *testing.T) (own *servers.Postgres, trusted string) {
	t.Helper()
	own = servers.StartPostgres(t, servers.PostgresOptions{})
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	trusted = configure(t, own, "server.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
	configure(t, own, "server.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	own.SQL(t, "", "alter system set ssl = on; select pg_reload_conf()")
	return own, trusted
}

// TestTLS, and the duplicate of a socket under it: the session lives until the last of them is closed.
func TestTLS(t *testing.T) {
	t.Parallel()
	own, trusted := encrypted(t)
	direct := own.Database(t)
	there := strings.Replace(direct, "sslmode=disable", "sslmode=verify-full&sslrootcert="+url.QueryEscape(trusted), 1)
	var s *Store
	until(t, prompt, "the server has read its settings", func() bool {
		config, err := pgx.ParseConfig(there)
		if err != nil {
			t.Fatal(err)
		}
		s, err = New(t.Context(), connect.New(config, nil), Options{TTL: time.Minute, Waits: 8, Waited: 32, MaxLocks: 10, Turn: time.Minute})
		return err == nil
	})
	v := look(t, direct)
	s.take(t, "x").releases()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, prompt, "its connections have gone", func() bool { return v.connections() == 0 })
	if strings.Contains(own.Log(), "could not receive data") {
		t.Error("the server complains of a session that ended in order")
	}
	s = start(t, there, long)
	other := start(t, direct, long)
	if v.count("select count(*) from pg_stat_ssl where pid = $1 and ssl", s.pid(t)) != 1 {
		t.Error("the connection is not encrypted")
	}
	h := other.take(t, "busy")
	w := s.caller(t, "busy").waits(t.Context())
	h.releases()
	w.got(prompt)
	c := s.take(t, "x")
	for _, held := range []*caller{c, w} {
		set, err := s.Descriptors(held.req.Ref)
		if err != nil || len(set.FDs) != 1 {
			t.Fatalf("the descriptors of %q: %v, %v", held.req.Name, set.FDs, err)
		}
		held.keeps() // the live one is as it was
		s.claims[held.req.Acq].line.shut()
		held.loses(late)
		if _, err := s.Descriptors(held.req.Ref); err == nil {
			t.Error("a lost lease has descriptors")
		}
		other.refused(t, held.req.Name)
		if err := syscall.Close(set.FDs[0]); err != nil {
			t.Fatal(err)
		}
		other.takeSoon(t, prompt, held.req.Name)
	}
}

// TestPasswordRotates: the hook gives the password of each new connection.
func TestPasswordRotates(t *testing.T) {
	t.Parallel()
	own := servers.StartPostgres(t, servers.PostgresOptions{})
	direct := own.Database(t)
	own.SQL(t, "", "create role app login superuser password 'first'")
	configure(t, own, "pg_hba.conf", []byte("host all app 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"))
	own.SQL(t, "", "select pg_reload_conf()")
	config, err := pgx.ParseConfig(strings.Replace(direct, "postgres@", "app@", 1))
	if err != nil {
		t.Fatal(err)
	}
	var password atomic.Value
	password.Store("wrong")
	dialer := connect.New(config, func(_ context.Context, c *pgx.ConnConfig) error {
		c.Password = password.Load().(string)
		return nil
	})
	opts := Options{TTL: time.Minute, Waits: 8, Waited: 32, MaxLocks: 10, Turn: time.Minute}
	until(t, prompt, "the server asks for a password", func() bool {
		s, err := New(t.Context(), dialer, opts)
		if err == nil {
			_ = s.Close(t.Context())
			return false
		}
		if kindOf(err) != "lasting" {
			t.Errorf("a wrong password is said to be %s: %v", kindOf(err), err)
		}
		return true
	})
	password.Store("first")
	s, err := New(t.Context(), dialer, opts)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, s)
	v := look(t, direct)
	for _, next := range []string{"second", "third"} {
		c := s.take(t, "x")
		v.do("alter role app password '" + next + "'")
		password.Store(next)
		v.count("select pg_terminate_backend($1)::int", s.pid(t))
		c.loses(prompt)
		s.takeSoon(t, prompt, "x").releases()
	}
}
