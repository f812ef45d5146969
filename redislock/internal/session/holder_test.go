package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// holdVariable has this test binary hold a name in another process: "grace TTL address name".
const holdVariable = "TENURE_TEST_HOLD"

// holdOn holds a name until the process is killed, and renews it.
func holdOn(what string) int {
	parts := strings.Fields(what)
	silence, err := time.ParseDuration(parts[0])
	ttl, err2 := time.ParseDuration(parts[1])
	if err := errors.Join(err, err2); err != nil {
		fmt.Println(err)
		return 1
	}
	s, err := open(context.Background(), parts[2], grace(silence))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	req := driver.Request{Ref: driver.Ref{Name: parts[3], Key: parts[3], Acq: 1}, Terms: terms, Watch: deaf{}}
	req.Terms.TTL = ttl
	if _, err := s.Acquire(context.Background(), &req); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("held")
	for {
		s.Renew(context.Background(), []driver.Renewal{{Ref: req.Ref, Terms: req.Terms}})
		time.Sleep(s.info.Validity(req.Terms) / 3)
	}
}

type deaf struct{}

func (deaf) Queued(*driver.Holder) {}
func (deaf) Lost(error)            {}
func (deaf) Asked(string)          {}

// startHolder starts a process that holds a name.
func startHolder(t *testing.T, silence, ttl time.Duration, name string) *os.Process {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%v %v %s %s", holdVariable, silence, ttl, server.Address(), name))
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the holder says %q, %v", line, err)
	}
	return child.Process
}
