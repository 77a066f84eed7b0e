package cache

import (
	"context"
	"errors"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// Apply implements proxy.Source: the writes go to the source, and before
// their answers go out the entries of their keys are void: also where a
// condition did not hold, as the answer then tells of a row that an entry may be
// older than. Conditions are the source's alone. The written values are not
// kept: a trigger may have changed the row, and of two writes whose answers cross
// nobody here knows the later one.
//
// The token of a write is a source time read after the commit's reply. The
// commit time would not do: the transaction may be visible only later.
func (c *Cache) Apply(ctx context.Context, writes []proxy.Write, results []proxy.Written) {
	before, _ := c.clock.Bounds()
	c.next.Apply(ctx, writes, results)
	_, token := c.clock.Bounds()
	if hook.Mutant(hook.TokenIsCommitTime) {
		token = before
	}
	for i := range writes {
		var rejected *proxy.RejectedError
		if errors.As(results[i].Err, &rejected) || errors.Is(results[i].Err, proxy.ErrReadOnly) {
			continue
		}
		// Also after an error: whether the write was carried out may be unknown.
		c.change(writes[i].Key, nil, proxy.Record{}, stepWritten)
		results[i].Token = token
		if hook.Mutant(hook.InstallWritten) {
			c.installWritten(&writes[i])
		}
	}
}

// installWritten is the mutant that keeps what a write wrote, as if it were
// the row.
func (c *Cache) installWritten(w *proxy.Write) {
	u := &c.cases[w.Key.UseCase.ID]
	value, ok := w.Key.UseCase.Mapping.Row(w.Fields)
	if !ok {
		return
	}
	hash := hashOf(w.Key.Text)
	lo, hi := c.clock.Bounds()
	c.put(u, hash, &entry{
		key: string(w.Key.Text), row: value, stamp: c.stamps.of(hash), epoch: u.epoch.Load(),
		asof: lo, upper: hi, expires: expiry(lo, u.TTLMax, hash), position: proxy.Position{Commit: 1},
	})
}
