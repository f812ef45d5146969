//go:build !unix

package locktest

// canStop says whether a process can be stopped and continued here.
const canStop = false

func (c *child) stop() { c.t.failf("a process cannot be stopped here") }

func (c *child) resume() { c.t.failf("a process cannot be stopped here") }
