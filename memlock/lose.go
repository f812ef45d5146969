package memlock

import "errors"

var errLost = errors.New("the memory was told to lose it")

// Lose makes the memory forget who holds a name, tells the holders that they lost it, and lets the next waiters have
// it. It gives the number of holders that there were. It is how a test sees what its program does about a lost lease.
// Of slots, name the slot.
func (s *Store) Lose(name string) int { return s.lose(name, true) }

// LoseQuietly is Lose without telling the holders: they find out when they next renew or release, or from a guard.
// Until then they and whoever comes next both believe that they hold the name, as after a failover that lost it.
func (s *Store) LoseQuietly(name string) int { return s.lose(name, false) }

func (s *Store) lose(name string, tell bool) (lost int) {
	t := s.memory.begin()
	defer t.end()
	p := s.memory.places[name]
	if p == nil {
		return 0
	}
	for c := range p.holders.all() {
		if c.over(t.now) {
			continue // it lost the name long ago; serve sees to it
		}
		if tell {
			t.report(c, errLost)
		}
		t.drop(p, c)
		lost++
	}
	t.serve(p)
	return lost
}
