package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// SentinelName is what sentinels call the primary that they watch.
const SentinelName = "main"

// SentinelOptions say how sentinels differ from those that are made for quick tests.
type SentinelOptions struct {
	DownAfter       time.Duration // a server is down that has not answered for so long; 500 ms if 0
	FailoverTimeout time.Duration // a failover that takes longer has failed; half of when it is tried again; 2 s if 0
	// Settings are lines of sentinel.conf that do not begin with "sentinel". They win over everything else.
	Settings map[string]string
}

// Sentinels watch a primary and its replicas, and promote a replica when most of them hold the primary for dead.
type Sentinels struct {
	nodes    []*Redis
	password string // of the servers that they watch
}

// StartSentinels starts so many sentinels of a primary, which must run, and stops them when the test ends. It returns once
// each of them knows the primary, all replicas that it has by then, and all other sentinels: from then on they fail over.
//
// Until they are restarted they look around more often than those of users do, who wait 10 s until a new replica is known.
func StartSentinels(t testing.TB, master *Redis, n int, options SentinelOptions) *Sentinels {
	t.Helper()
	s := &Sentinels{password: master.password()}
	for range n {
		node, err := prepareSentinel(master, n/2+1, options)
		if err != nil {
			t.Fatal(err)
		}
		node.closeAfter(t)
		if err := node.startAnywhere(); err != nil {
			t.Fatal(err)
		}
		hurry := []string{"SENTINEL", "DEBUG", "INFO-PERIOD", "500", "PUBLISH-PERIOD", "200", "TILT-PERIOD", "2000"}
		if _, err := node.Command(hurry...); err != nil {
			t.Fatal(err)
		}
		s.nodes = append(s.nodes, node)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := untilRedis(ctx, func(ctx context.Context) error { return s.known(ctx, master) }); err != nil {
		t.Fatal(err)
	}
	return s
}

// prepareSentinel makes a server that is a sentinel, and does not run yet.
func prepareSentinel(master *Redis, quorum int, options SentinelOptions) (*Redis, error) {
	node, err := prepareRedis("sentinel", RedisOptions{Settings: options.Settings})
	if err != nil {
		return nil, err
	}
	node.command = func() *exec.Cmd { return exec.Command(node.program, node.file(), "--sentinel") }
	node.server.configure = func() error {
		settings := node.basics()
		maps.Copy(settings, node.options.Settings)
		lines := redisLines(settings)
		lines += fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d %d\n", SentinelName, master.port, quorum)
		for name, value := range map[string]time.Duration{
			"down-after-milliseconds": orElse(options.DownAfter, 500*time.Millisecond),
			"failover-timeout":        orElse(options.FailoverTimeout, 2*time.Second),
		} {
			lines += fmt.Sprintf("sentinel %s %s %d\n", name, SentinelName, value.Milliseconds())
		}
		if master.password() != "" {
			lines += fmt.Sprintf("sentinel auth-pass %s %s\n", SentinelName, master.options.Settings["requirepass"])
		}
		return node.write(node.file(), lines)
	}
	return node, nil
}

func orElse(value, standard time.Duration) time.Duration {
	if value == 0 {
		return standard
	}
	return value
}

// known says who is unknown to whom, and nil if nobody is.
func (s *Sentinels) known(ctx context.Context, master *Redis) error {
	info, err := master.info(ctx, "replication")
	if err != nil {
		return err
	}
	replicas, err := strconv.Atoi(info["connected_slaves"])
	if err != nil {
		return err
	}
	for _, node := range s.nodes {
		for _, kind := range []struct {
			command, name, value string
			want                 int
		}{
			{"MASTER", "flags", "master", 1}, // and not "master,disconnected"
			{"REPLICAS", "flags", "slave", replicas},
			{"REPLICAS", "master-link-status", "ok", replicas},
			{"SENTINELS", "flags", "sentinel", len(s.nodes) - 1},
		} {
			said, err := node.ask(ctx, "SENTINEL", kind.command, SentinelName)
			if err != nil {
				return err
			}
			if got := countPairs(said, kind.name, kind.value); got != kind.want {
				return fmt.Errorf("SENTINEL %s on port %d: %d of %d have %s %s",
					kind.command, node.port, got, kind.want, kind.name, kind.value)
			}
		}
	}
	return nil
}

// countPairs counts a pair in a list of names and values.
func countPairs(list []string, name, value string) int {
	n := 0
	for i := 0; i+1 < len(list); i += 2 {
		if list[i] == name && list[i+1] == value {
			n++
		}
	}
	return n
}

// Nodes are the sentinels one by one, to be broken and asked.
func (s *Sentinels) Nodes() []*Redis { return s.nodes }

// Addresses are the hosts and ports of the sentinels.
func (s *Sentinels) Addresses() []string { return addresses(s.nodes) }

func addresses(nodes []*Redis) []string {
	var all []string
	for _, node := range nodes {
		all = append(all, node.Address())
	}
	return all
}

// Master is the address that the sentinels give clients as that of the primary. It is an error if none answers, or two of
// those that do differ, as they may during a failover.
func (s *Sentinels) Master() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.master(ctx)
}

func (s *Sentinels) master(ctx context.Context) (string, error) {
	var found string
	for _, node := range s.nodes {
		if !node.answers() {
			continue
		}
		said, err := node.ask(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", SentinelName)
		if err != nil {
			return "", err
		}
		address := strings.Join(said, ":")
		if found != "" && found != address {
			return "", fmt.Errorf("the primary is %s for one sentinel, and %s for the one on port %d", found, address, node.port)
		}
		found = address
	}
	if found == "" {
		return "", errors.New("no sentinel runs")
	}
	return found, nil
}

// Failover has the sentinels promote a replica, though the primary is well, and returns once all of them name the new one
// and it takes writes. The old one may take writes some time longer, until they make it a replica.
func (s *Sentinels) Failover() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var old string
	err := untilRedis(ctx, func(ctx context.Context) (err error) { // a failover may still be going on
		if old, err = s.master(ctx); err != nil {
			return err
		}
		return s.fail(ctx)
	})
	if err != nil {
		return err
	}
	return untilRedis(ctx, func(ctx context.Context) error {
		now, err := s.master(ctx)
		if err != nil {
			return err
		}
		if now == old {
			return fmt.Errorf("the primary is still %s", old)
		}
		role, err := askRedis(ctx, now, s.password, "ROLE")
		if err == nil && role[0] != "master" {
			err = fmt.Errorf("%s is a %s", now, role[0])
		}
		return err
	})
}

// fail asks the first sentinel that answers to begin a failover.
func (s *Sentinels) fail(ctx context.Context) error {
	for _, node := range s.nodes {
		if node.answers() {
			_, err := node.ask(ctx, "SENTINEL", "FAILOVER", SentinelName)
			return err
		}
	}
	return errors.New("no sentinel runs")
}
