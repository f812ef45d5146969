package locktest

import (
	"context"

	"github.com/tenurelock/tenure/driver"
)

var sharing = needs{features: driver.CanShare}

var sharedRules = []Rule{
	{Name: "shared/beside", Says: "Readers hold a name beside each other, in one session and in several.", needs: sharing, check: checkReadersBeside},
	{Name: "shared/excludes", Says: "No reader holds beside a writer.", needs: sharing, check: checkReadersAndWriter},
	{Name: "shared/last", Says: "A waiting writer is granted when the last reader has gone, not the first.", needs: sharing, check: checkWriterAfterLastReader},
	{Name: "shared/starved", Says: "A waiting writer holds back later readers.", needs: sharing, check: checkWriterHoldsBack},
	{Name: "shared/gave-up", Says: "A waiting writer that gives up lets the readers on that it held back.", needs: sharing, check: checkWriterGivesUp},
	{Name: "shared/together", Says: "Waiting readers are granted together.", needs: sharing, check: checkReadersWakeTogether},
	{Name: "shared/numbers", Says: "A writer's number is above those of the readers before it, and theirs above the writer's before them.", needs: sharing, check: checkReadersNumbers},
	{Name: "shared/release", Says: "A reader gives back its own grant, and no other reader's.", needs: sharing, check: checkReadersRelease},
}

func checkReadersBeside(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	readers := []*claim{a.take(name, shared), b.take(name, shared), a.take(name, shared)}
	for _, r := range readers {
		r.renews()
	}
	for _, r := range readers {
		r.releases()
	}
}

func checkReadersAndWriter(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	writer := a.take(name)
	b.refused(name, shared)
	writer.releases()
	reader := b.take(name, shared)
	a.refused(name)
	reader.releases()
	a.take(name)
}

func checkWriterAfterLastReader(t *trial) {
	name := t.name("x")
	a, b, c := t.open(), t.open(), t.open()
	first, second := a.take(name, shared), b.take(name, shared)
	writer := c.wait(t.ctx, name)
	first.releases()
	t.pause(10 * t.poll())
	t.want(!writer.over(), "a writer was granted while a reader was left")
	second.renews()
	second.releases()
	writer.got(t.Prompt)
}

func checkWriterHoldsBack(t *trial) {
	name := t.name("x")
	a, b, c, d := t.open(), t.open(), t.open(), t.open()
	reader := a.take(name, shared)
	writer := b.wait(t.ctx, name)
	c.refused(name, shared) // or a stream of readers would starve the writer
	late := d.wait(t.ctx, name, shared)
	t.pause(10 * t.poll())
	t.want(!late.over() && !writer.over(), "somebody was granted behind or beside the first reader")
	reader.releases()
	writer.got(t.Prompt)
	t.want(!late.over(), "a reader was granted beside the writer")
	writer.releases()
	late.got(t.Prompt)
}

func checkWriterGivesUp(t *trial) {
	name := t.name("x")
	a, b, c, d := t.open(), t.open(), t.open(), t.open()
	reader := a.take(name, shared)
	ctx, cancel := context.WithCancel(t.ctx)
	writer := b.wait(ctx, name)
	c.refused(name, shared) // or a stream of readers would starve the writer
	held := c.wait(t.ctx, name, shared)
	cancel()
	writer.ends(t.Prompt, "its context was cancelled")
	writer.settle()
	held.got(t.Prompt)
	d.takeSoon(t.Prompt, name, shared).releases()
	held.releases()
	reader.releases()
}

func checkReadersWakeTogether(t *trial) {
	name := t.name("x")
	writer := t.open().take(name)
	var readers []*claim
	for range 3 {
		readers = append(readers, t.open().wait(t.ctx, name, shared))
	}
	writer.releases()
	for _, r := range readers {
		r.got(t.Prompt)
	}
	for _, r := range readers {
		r.releases()
	}
}

func checkReadersNumbers(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	var last int64
	for range 3 {
		writer := a.take(name)
		t.want(writer.grant.Number > last, "a writer was numbered %d after %d", writer.grant.Number, last)
		writer.releases()
		first, second := a.take(name, shared), b.take(name, shared)
		for _, r := range []*claim{first, second} {
			t.want(r.grant.Number > writer.grant.Number, "a reader was numbered %d after a writer with %d", r.grant.Number, writer.grant.Number)
			last = max(last, r.grant.Number)
		}
		first.releases()
		second.releases()
	}
}

func checkReadersRelease(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	first, second := a.take(name, shared), a.take(name, shared)
	first.releases()
	first.isNotOurs("a reader's grant after its release")
	second.renews()
	b.refused(name)
	second.releases()
	b.take(name)
}
