package tenure

import "github.com/tenurelock/tenure/driver"

// holdHeap is a container/heap of holds by when they must be looked at.
type holdHeap []*hold

func (hh holdHeap) Len() int           { return len(hh) }
func (hh holdHeap) Less(i, j int) bool { return hh[i].at.Before(hh[j].at) }

func (hh holdHeap) Swap(i, j int) {
	hh[i], hh[j] = hh[j], hh[i]
	hh[i].index, hh[j].index = i, j
}

// Push appends; container/heap calls it.
func (hh *holdHeap) Push(x any) {
	h := x.(*hold)
	h.index = len(*hh)
	*hh = append(*hh, h)
}

// Pop takes the last; container/heap calls it.
func (hh *holdHeap) Pop() any {
	last := len(*hh) - 1
	h := (*hh)[last]
	(*hh)[last] = nil
	*hh = (*hh)[:last]
	h.index = -1
	return h
}

// upTo lists the holds that are due at an instant, and leaves them where they are.
func (hh holdHeap) upTo(at driver.Instant) (due []*hold) {
	if len(hh) == 0 {
		return nil
	}
	for open := []int{0}; len(open) > 0; {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		if at.Before(hh[i].at) {
			continue // and so are all below it
		}
		due = append(due, hh[i])
		for child := 2*i + 1; child <= 2*i+2 && child < len(hh); child++ {
			open = append(open, child)
		}
	}
	return due
}
