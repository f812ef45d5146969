package session

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hostile are settings that roles have, and that would kill or mislead what locks and waits.
var hostile = map[string]string{
	"lock_timeout": "50ms", "statement_timeout": "1500ms", "idle_session_timeout": "3s", "idle_in_transaction_session_timeout": "1s",
	"default_transaction_isolation": "serializable", "default_transaction_read_only": "on", "default_transaction_deferrable": "on",
	"search_path": "nowhere", "client_connection_check_interval": "0", "tcp_user_timeout": "0", "synchronous_commit": "remote_apply",
	"force_parallel_mode": "on", "plan_cache_mode": "force_custom_plan", "enable_seqscan": "off", "timezone": "Asia/Kathmandu",
	"DateStyle": "SQL, DMY", "IntervalStyle": "sql_standard", "extra_float_digits": "0", "bytea_output": "escape",
	"client_min_messages": "debug1", "row_security": "off",
}

// TestH28HostileSettings of the role and of the database do not disturb locks and waits.
func TestH28HostileSettings(t *testing.T) {
	t.Parallel()
	for _, of := range []string{"role", "database"} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			direct := server.Database(t)
			parsed, err := url.Parse(direct)
			if err != nil {
				t.Fatal(err)
			}
			database := strings.TrimPrefix(parsed.Path, "/")
			role := "r" + database
			v := look(t, direct)
			v.do("create role " + role + " login superuser")
			t.Cleanup(func() { v.do("drop owned by " + role + " cascade; drop role " + role) })
			for name, value := range hostile {
				if of == "role" {
					v.do("alter role " + role + " set " + name + " = '" + value + "'")
				} else if name != "default_transaction_read_only" { // of a database it is a decision, and refused
					v.do("alter database " + database + " set " + name + " = '" + value + "'")
				}
			}
			there := strings.Replace(direct, "postgres@", role+"@", 1)
			s, other := start(t, there, long), start(t, there, long)
			h := other.take(t, "x")
			w := s.caller(t, "x").waits(t.Context())
			read := s.take(t, "read", shared)
			time.Sleep(3100 * time.Millisecond) // longer than all of those
			h.keeps()
			h.releases()
			w.got(prompt)
			w.keeps()
			read.keeps()
			remembered := s.take(t, "now and then", once)
			remembered.releases()
			w.releases()
			v.agrees(s)
		})
	}
}

// TestSettings compares what the server has with what was set, on lines of both kinds.
func TestSettings(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	socket := "postgres://postgres@/" + direct[strings.LastIndex(direct, "/")+1:] + "&host=" + url.QueryEscape(server.Dir()) + "&port=" + strconv.Itoa(server.Port())
	ask := map[string]string{"ask": "select string_agg(name || '=' || setting, E'\n') from pg_settings"}
	for name, there := range map[string]string{"tcp": direct, "unix": socket} {
		for _, of := range []time.Duration{300 * time.Millisecond, time.Second, 30 * time.Second, 24 * time.Hour} {
			t.Run(name+" "+of.String(), func(t *testing.T) {
				t.Parallel()
				config := sabotage(t, there, ask)
				s, other := startConfig(t, config, ttl(of)), start(t, direct, long)
				for _, extra := range []bool{false, true} {
					l, err := s.mainLine(t.Context())
					if err == nil && extra {
						h := other.take(t, t.Name())
						w := s.caller(t, t.Name()).waits(t.Context())
						h.releases()
						w.got(prompt)
						l, err = s.claims[w.req.Acq].line, nil
					}
					if err != nil {
						t.Fatal(err)
					}
					var text string
					if _, err := l.query(t.Context(), "ask", nil, func(values [][]byte) { text = string(values[0]) }); err != nil {
						t.Fatal(err)
					}
					has := make(map[string]string)
					for _, setting := range strings.Split(text, "\n") {
						name, value, _ := strings.Cut(setting, "=")
						has[name] = value
					}
					for _, setting := range s.settings(150000, l.backend.name, extra) {
						want := setting[1]
						if strings.HasPrefix(setting[0], "tcp_") && name == "unix" {
							want = "0"
						}
						if has[setting[0]] != want {
							t.Errorf("extra %v: %s is %q instead of %q", extra, setting[0], has[setting[0]], want)
						}
					}
					lasts(t, has, of, name == "tcp", extra)
				}
			})
		}
	}
}

// lasts checks the rules that the settings follow from (H30, H71).
func lasts(t *testing.T, has map[string]string, ttl time.Duration, tcp, extra bool) {
	t.Helper()
	number := func(name string, unit time.Duration) time.Duration {
		n, err := strconv.Atoi(has[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return time.Duration(n) * unit
	}
	if got := number("idle_session_timeout", time.Millisecond); got != ttl {
		t.Errorf("an idle session lasts for %v instead of a TTL of %v", got, ttl)
	}
	if got := number("client_connection_check_interval", time.Millisecond); extra && (got <= 0 || got > time.Second) {
		t.Errorf("a waiter whose connection was closed may stay for %v", got)
	}
	if !tcp {
		return
	}
	probes := number("tcp_keepalives_idle", time.Second) + number("tcp_keepalives_interval", time.Second)*number("tcp_keepalives_count", 1)
	for name, got := range map[string]time.Duration{"keepalives": probes, "tcp_user_timeout": number("tcp_user_timeout", time.Millisecond)} {
		if got < ttl {
			t.Errorf("%s end a session after %v, within its TTL of %v", name, got, ttl)
		}
	}
}
