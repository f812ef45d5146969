package session

import (
	"strconv"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/netfault"
	"github.com/tenurelock/tenure/internal/process"
)

// TestKilledHolder: with a TTL of 30 s and a grace of 1 s, a killed holder's name is granted within 1.5 s.
func TestKilledHolder(t *testing.T) {
	t.Parallel()
	child := startHolder(t, time.Second, 30*time.Second, "killed")
	w := start(t, grace(time.Second)).waitFor(t, "killed")
	killed := driver.Now()
	if err := child.Kill(); err != nil {
		t.Fatal(err)
	}
	w.granted(prompt)
	if took := w.at.Sub(killed); took > 1500*time.Millisecond+slack {
		t.Errorf("granted %v after its holder was killed", took)
	}
	w.releases()
}

// TestHoldersGraceCounts, whatever whoever asks would bear (R10).
func TestHoldersGraceCounts(t *testing.T) {
	t.Parallel()
	child := startHolder(t, 4*time.Second, 30*time.Second, "patient")
	w := start(t, grace(600*time.Millisecond)).waitFor(t, "patient")
	killed := driver.Now()
	if err := child.Kill(); err != nil {
		t.Fatal(err)
	}
	w.granted(prompt)
	if took := w.at.Sub(killed); took < 4*time.Second {
		t.Errorf("granted %v after its holder, which had a grace of 4 s, was killed", took)
	}
}

// TestStoppedHolder keeps its lease, since its connections stand, until the TTL after the last renewal that the server applied,
// and no longer.
func TestStoppedHolder(t *testing.T) {
	t.Parallel()
	child := startHolder(t, time.Second, 5*time.Second, "stopped")
	w := start(t, grace(time.Second)).waitFor(t, "stopped")
	if err := process.Stop(child.Pid); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what it had sent is in the server's socket, and is read in the same round as the first of these
		redis(t, "PING")
	}
	before := driver.Now()
	left, err := strconv.Atoi(redis(t, "PTTL", "stopped"))
	if err != nil {
		t.Fatal(err)
	}
	w.granted(prompt)
	if took, due := w.at.Sub(before), time.Duration(left)*time.Millisecond; took < due-2*time.Millisecond || took > due+slack {
		t.Errorf("granted after %v, where %v were left", took, due)
	}
}

// behindProxy opens a session whose connections a test can cut.
func behindProxy(t *testing.T, set ...func(*Options)) (*Store, *netfault.Proxy) {
	t.Helper()
	proxy := netfault.New(t, server.Address())
	return startAt(t, proxy.Address(), set...), proxy
}

// TestCutHolder: a holder whose connections are cut, and come back within the grace, keeps its lease.
func TestCutHolder(t *testing.T) {
	t.Parallel()
	s, proxy := behindProxy(t, grace(3*time.Second))
	w := start(t, grace(time.Second)) // asks three times a second, and leaves its mark
	for i := range 3 {
		name := "cut" + strconv.Itoa(i)
		c := s.take(t, name)
		waiter := w.waitFor(t, name)
		proxy.Cut()
		until(t, prompt, "a renewal after the connections were cut", func() bool {
			proof, err := c.renew()
			return err == nil && driver.Now().Sub(proof.Sent) < time.Second
		})
		select {
		case <-c.lost:
			t.Fatal("the lease was lost")
		case <-waiter.done:
			t.Fatal("the name was passed on")
		default:
		}
		c.releases()
		waiter.granted(prompt).releases()
	}
}

// TestPartitionedHolder: one that cannot reach the server for a grace has lost its lease before anybody is granted the name, and
// keeps it lost when it is back.
func TestPartitionedHolder(t *testing.T) {
	t.Parallel()
	const silence = 1500 * time.Millisecond
	s, proxy := behindProxy(t, grace(silence))
	c := s.take(t, "partitioned")
	w := start(t, grace(silence)).waitFor(t, "partitioned")
	proof, err := c.renew()
	if err != nil {
		t.Fatal(err)
	}
	proxy.Refuse(true)
	proxy.Cut()
	until(t, prompt, "the name passes on", func() bool {
		if newer, err := c.renew(); err == nil {
			proof = newer
		}
		select {
		case <-w.done:
			return true
		default:
			return false
		}
	})
	w.granted(prompt)
	trusted := proof.Sent.Add(time.Duration(float64(proof.Valid)*(1-terms.Drift)) - terms.Margin)
	if !trusted.Before(w.at) {
		t.Errorf("the lease was trusted for %v after the successor's grant", trusted.Sub(w.at))
	}
	proxy.Refuse(false)
	until(t, prompt, "the old holder hears of its loss", func() bool {
		_, err := c.renew()
		select {
		case <-c.lost:
			return err == driver.ErrNotOurs //nolint:errorlint // it is said as it is
		default:
			return false
		}
	})
	if _, err := w.renew(); err != nil {
		t.Errorf("the successor: %v", err)
	}
	w.releases()
}

// TestH78LateProof: a proof that is answered when its chain is over does not revive what rested on it (R9), though nobody had
// noticed by then; a waiter must ask before it trusts again.
func TestH78LateProof(t *testing.T) {
	t.Parallel()
	s := start(t, grace(5*time.Second))
	c := s.take(t, "late")
	other := start(t)
	holder := other.take(t, "late-wait")
	w := s.waitFor(t, "late-wait")
	s.mu.Lock()
	for _, k := range s.chains {
		k.sent = k.sent.Add(-time.Minute)
	}
	s.mu.Unlock()
	s.proves(driver.Now())
	select {
	case <-c.lost:
	case <-time.After(prompt):
		t.Fatal("the lease was not lost")
	}
	if _, err := c.renew(); err != driver.ErrNotOurs { //nolint:errorlint // it is said as it is
		t.Errorf("renew after the chain was broken: %v", err)
	}
	holder.releases()
	w.granted(prompt) // by a question that saw the subscription and the lease together
	if _, err := w.renew(); err != nil {
		t.Errorf("renew of the waiter's lease: %v", err)
	}
	w.releases()
}

// TestH73MarksOfAnotherReign are void: one that was replicated says nothing of the silence before another server.
func TestH73MarksOfAnotherReign(t *testing.T) {
	t.Parallel()
	dead := "tenure:00000000000000000000000000000001:1:500"
	redis(t, "SET", "reign", dead, "PX", "20000")
	s := start(t, grace(time.Second))
	old := strconv.FormatInt(time.Now().Add(-time.Hour).UnixMicro(), 10)
	redis(t, "SET", "tenure:suspect:00000000000000000000000000000001", "0123456789abcdef|"+old, "PX", "60000")
	began := driver.Now()
	w := s.waitFor(t, "reign")
	w.granted(prompt)
	if took := w.at.Sub(began); took < 500*time.Millisecond {
		t.Errorf("granted after %v, by the mark of another reign", took)
	}
}
