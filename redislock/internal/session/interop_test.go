package session

import (
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// unlock is what programs run that follow the usual recipe.
const unlock = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"

// TestPlainRecipe: SET key random NX PX and compare-and-delete exclude us, and are excluded.
func TestPlainRecipe(t *testing.T) {
	t.Parallel()
	s := start(t)
	if redis(t, "SET", "plain", "4711", "NX", "PX", "30000") != "OK" {
		t.Fatal("the name was not free")
	}
	if held := s.refused(t, "plain"); !held.Holder.Foreign {
		t.Errorf("the holder is said to be %v", held.Holder)
	}
	for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
		s.refused(t, "plain", func(r *driver.Request) { r.Mode = mode })
	}
	if redis(t, "EVAL", unlock, "1", "plain", "4711") != "1" {
		t.Fatal("it was not theirs any more")
	}
	c := s.take(t, "plain")
	if got := redis(t, "SET", "plain", "4711", "NX", "PX", "30000"); got != "" {
		t.Errorf("another program was granted our name: %q", got)
	}
	if redis(t, "EVAL", unlock, "1", "plain", "4711") != "0" {
		t.Error("another program has unlocked our name")
	}
	c.releases()
	if redis(t, "EXISTS", "plain") != "0" {
		t.Error("the name is still there after the release")
	}
}

// TestForeignDelete: nobody tells waiters of a key that another program deletes, or lets run out; they see it at their next
// question, a quarter of the TTL later at most.
func TestForeignDelete(t *testing.T) {
	t.Parallel()
	s := start(t)
	short := func(r *driver.Request) { r.Terms.TTL = 4 * time.Second }
	redis(t, "SET", "deleted", "4711", "PX", "60000")
	w := s.waitFor(t, "deleted", short)
	deleted := driver.Now()
	redis(t, "DEL", "deleted")
	if w.granted(prompt); w.at.Sub(deleted) > time.Second+slack {
		t.Errorf("granted %v after the key was deleted", w.at.Sub(deleted))
	}
	w.releases()
	redis(t, "SET", "runs-out", "4711", "PX", "700")
	began := driver.Now()
	w = s.waitFor(t, "runs-out")
	if w.granted(prompt); w.at.Sub(began) > 700*time.Millisecond+slack {
		t.Errorf("granted %v after the key was set for 700ms", w.at.Sub(began))
	}
}

// slack is what a busy machine adds to a bound that a lease promises.
const slack = 400 * time.Millisecond

// TestForeignKey: a key of another type, or one that never ends, is another program's, and no error of ours.
func TestForeignKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	redis(t, "SET", "endless", "x")
	if held := s.refused(t, "endless"); !held.Holder.Foreign {
		t.Errorf("the holder is said to be %v", held.Holder)
	}
	redis(t, "RPUSH", "list", "x")
	c := s.caller(t, "list")
	if c.acquire(t.Context()); c.err == nil {
		t.Error("a list was granted")
	}
	if redis(t, "LRANGE", "list", "0", "-1") != "x" {
		t.Error("another program's list was changed")
	}
}

// TestLockValueTakenOver: H15, H16: a release compares the whole owner id, and never touches another's lock.
func TestLockValueTakenOver(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.take(t, "taken")
	redis(t, "SET", "taken", redis(t, "GET", "taken")+"0", "PX", "30000")
	if err := c.release(); err != driver.ErrNotOurs { //nolint:errorlint // it is said as it is
		t.Errorf("release of a lock that is another's: %v", err)
	}
	if redis(t, "EXISTS", "taken") != "1" {
		t.Error("another's lock was deleted")
	}
	if _, err := s.take(t, "other").renew(); err != nil {
		t.Error(err)
	}
}
