package netfault

import (
	"net"
	"time"
)

// Cut resets all connections on both sides, and ends LoseAnswers. What was on the way is lost. New connections are served.
func (p *Proxy) Cut() {
	p.mu.Lock()
	links := make([]*link, 0, len(p.links))
	p.down.lose(nil, func() { // at once: an old connection gets none of its answers, a new one all
		for l := range p.links {
			links = append(links, l)
			l.cutOff()
		}
	})
	p.mu.Unlock()
	for _, l := range links {
		<-l.ended
	}
}

// Refuse says whether new connections are refused, as they are where no server listens. Open ones stay.
func (p *Proxy) Refuse(refuse bool) {
	p.refusing.Lock()
	defer p.refusing.Unlock()
	p.mu.Lock()
	listener := p.listener
	if refuse {
		p.listener = nil
	}
	p.mu.Unlock()
	switch {
	case refuse && listener != nil:
		if err := listener.Close(); err != nil {
			p.t.Error(err)
		}
	case !refuse && listener == nil:
		again, err := net.Listen("tcp4", p.address)
		if err != nil {
			p.t.Errorf("accept connections again: %v", err)
			return
		}
		p.listen(again)
	}
}

// Drop holds back what is sent up or down, or ends that, on all connections, those to come included, as a partition does:
// nobody is told, nothing is closed, and that one side closes does not reach the other. Nothing is lost, as TCP sends again
// what a network has dropped: it is held, and delivered in order when the way is open again. A connection that is made while
// up is dropped reaches the server after that.
func (p *Proxy) Drop(up, down bool) {
	for _, drop := range []bool{true, false} { // nothing slips through that one way opens before the other is shut
		if up == drop {
			p.up.drop(drop)
		}
		if down == drop {
			p.down.drop(drop)
		}
	}
}

// Heal ends Drop: what was held back is delivered in order.
func (p *Proxy) Heal() { p.Drop(false, false) }

// Delay holds back for so long whatever is sent from now on, on each way: a round trip takes twice as long. The order stays,
// and what is sent meanwhile is not delayed more.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// LoseAnswers has requests pass and swallows all answers for good, on all connections, those to come included, until Cut.
// What it gives is closed once something was swallowed: then the server has answered, and thus done, what it was asked.
//
//	lost := proxy.LoseAnswers()
//	go commit()
//	<-lost
//	proxy.Cut() // the commit has happened, and commit cannot know
func (p *Proxy) LoseAnswers() <-chan struct{} {
	lost := make(chan struct{})
	p.down.lose(lost, func() {})
	return lost
}
