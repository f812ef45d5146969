package servers_test

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/servers"
)

// says runs a command and compares the answer.
func says(t *testing.T, server *servers.Redis, want string, command ...string) {
	t.Helper()
	got, err := server.Command(command...)
	must(t, err)
	if got != want {
		t.Errorf("%q gives %q instead of %q", command, got, want)
	}
}

// refuses runs a command that must fail, and looks for a word in the error.
func refuses(t *testing.T, server *servers.Redis, word string, command ...string) {
	t.Helper()
	got, err := server.Command(command...)
	if err == nil || !strings.Contains(err.Error(), word) {
		t.Errorf("%q gives %q and %v, not %s", command, got, err, word)
	}
}

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func TestRedisServesWithItsSettings(t *testing.T) {
	server := servers.StartRedis(t, servers.RedisOptions{})
	for setting, value := range map[string]string{
		"bind": "127.0.0.1", "save": "", "appendonly": "no", "maxmemory-policy": "noeviction", "protected-mode": "no",
		"dir": server.Dir(), "port": fmt.Sprint(server.Port()),
	} {
		says(t, server, setting+"\n"+value, "CONFIG", "GET", setting)
	}
	if server.Port() >= 32768 || server.Port() == 6379 || server.PID() == 0 {
		t.Errorf("port %d of process %d", server.Port(), server.PID())
	}
	if want := "redis://" + server.Address() + "/0"; server.URL() != want {
		t.Errorf("its URL is %s instead of %s", server.URL(), want)
	}

	other := servers.StartRedis(t, servers.RedisOptions{Settings: map[string]string{
		"maxmemory-policy": "allkeys-lru", "save": "900 1 300 10", "requirepass": "secret",
	}})
	says(t, other, "maxmemory-policy\nallkeys-lru", "CONFIG", "GET", "maxmemory-policy")
	says(t, other, "save\n900 1 300 10", "CONFIG", "GET", "save")
	if want := "redis://:secret@" + other.Address() + "/0"; other.URL() != want {
		t.Errorf("its URL is %s instead of %s", other.URL(), want)
	}
}

// TestSharedRedis is one as a TestMain has it.
func TestSharedRedis(t *testing.T) {
	server, err := servers.OpenRedis(servers.RedisOptions{})
	must(t, err)
	says(t, server, "PONG", "PING")
	must(t, server.Close())
	must(t, server.Close())
	if server.PID() != 0 || server.Start() == nil {
		t.Error("a closed server runs, or starts")
	}
}

func TestRedisThatCannotStart(t *testing.T) {
	server, err := servers.OpenRedis(servers.RedisOptions{Settings: map[string]string{"maxmemory-policy": "none-such"}})
	if err == nil {
		t.Fatal(server.Close(), "it starts with a policy that there is not")
	}
	if !strings.Contains(err.Error(), "none-such") {
		t.Errorf("the error does not show what the server said: %v", err)
	}
}

func TestRedisCommand(t *testing.T) {
	server := servers.StartRedis(t, servers.RedisOptions{})
	text := "two\r\nlines, and $3\r\n"
	says(t, server, "OK", "SET", "a key", text)
	says(t, server, text, "GET", "a key")
	says(t, server, "", "GET", "none")
	says(t, server, "", "KEYS", "none")
	says(t, server, "7", "INCRBY", "n", "7")
	says(t, server, "7\n\n"+text, "MGET", "n", "none", "a key")
	says(t, server, "1\na\nb\n2", "EVAL", "return {1, {'a', 'b'}, 2}", "0")
	refuses(t, server, "WRONGTYPE", "LPUSH", "n", "1")
	refuses(t, server, "why", "EVAL", "return {1, redis.error_reply('why')}", "0")
	must(t, server.Stop())
	refuses(t, server, "refused", "PING")
}

// TestRedisStopAndKill: it comes back at the same place, empty unless its settings say otherwise.
func TestRedisStopAndKill(t *testing.T) {
	for kept, settings := range []map[string]string{nil, {"appendonly": "yes", "appendfsync": "always"}} {
		server := servers.StartRedis(t, servers.RedisOptions{Settings: settings})
		for name, end := range map[string]func() error{"stop": server.Stop, "kill": server.Kill} {
			says(t, server, "OK", "SET", "a", name)
			address := server.Address()
			must(t, end())
			if server.PID() != 0 || server.Ready(t.Context()) == nil {
				t.Errorf("after a %s the server runs", name)
			}
			must(t, server.Stop()) // it is down, as wanted
			if server.Kill() == nil || server.Pause() == nil {
				t.Error("a server that is down was killed, or paused")
			}
			must(t, server.Start())
			if server.Start() == nil || server.Address() != address {
				t.Errorf("it starts twice, or is at %s and was at %s", server.Address(), address)
			}
			says(t, server, fmt.Sprint(kept), "EXISTS", "a")
		}
	}
}

// TestRedisPause: a paused server is reached and does not answer, and has lost nothing when it goes on.
func TestRedisPause(t *testing.T) {
	server := servers.StartRedis(t, servers.RedisOptions{})
	must(t, server.Continue()) // of what is not paused
	must(t, server.Pause())
	must(t, server.Pause())
	connection, err := net.Dial("tcp", server.Address())
	must(t, err)
	defer connection.Close()
	_, err = connection.Write([]byte("PING\r\n"))
	must(t, err)
	must(t, connection.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	from := bufio.NewReader(connection)
	if said, err := from.ReadString('\n'); err == nil {
		t.Errorf("a paused server says %q", said)
	}
	must(t, server.Continue())
	must(t, connection.SetReadDeadline(time.Now().Add(time.Minute)))
	if said, err := from.ReadString('\n'); said != "+PONG\r\n" {
		t.Errorf("after the pause it says %q, %v", said, err)
	}

	for _, end := range []func() error{server.Kill, server.Stop} { // neither waits for Continue
		must(t, server.Pause())
		must(t, end())
		must(t, server.Start())
		says(t, server, "PONG", "PING")
	}
	must(t, server.Pause()) // Close does not wait for it either
}

// TestRedisIsNotAnother: a server that answers where ours should is not taken for it.
func TestRedisIsNotAnother(t *testing.T) {
	server := servers.StartRedis(t, servers.RedisOptions{})
	must(t, server.Stop())
	other := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", fmt.Sprint(server.Port()), "--save", "")
	other.Dir = t.TempDir()
	must(t, other.Start())
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	eventually(t, "the other answers", func() bool {
		_, err := server.Command("PING")
		return err == nil
	})
	if server.Start() == nil || server.PID() != 0 {
		t.Error("it started where another is")
	}
}
