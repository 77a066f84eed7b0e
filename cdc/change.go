package cdc

import (
	"bytes"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// change applies a change of the partition's stream.
func (a *Applier) change(p *partition, r *event.Record, at place, offset int64, value []byte) {
	c := r.Change
	a.show(p, r)
	if hook.Mutant(hook.DropEvents) && (r.Stream^r.Position.Commit*0x9e3779b97f4a7c15)>>20%1000 == 0 {
		return
	}
	switch {
	case at == lie:
		a.lied(p, r)
		a.metrics.change(c.Op, changeLie)
		a.drop(p, r)
	case at == repeat && r.Prev.Known():
		a.metrics.change(c.Op, changeRepeat)
	case at == repeat:
		// No prev tells this from a change that was never seen.
		a.metrics.change(c.Op, changeRepeat)
		a.drop(p, r)
	default:
		a.doubt(p, c)
		a.metrics.change(c.Op, changeApplied)
		if c.Op > event.SchemaChanged {
			a.keep(p, offset, value, c.Table, "operation is not known")
		}
		a.applyChange(p, r, true)
	}
}

// drop applies a change without what it left behind.
func (a *Applier) drop(p *partition, r *event.Record) { a.applyChange(p, r, false) }

// applyChange drops, and where it may replaces, what a change touches, in
// every use case of its table.
func (a *Applier) applyChange(p *partition, r *event.Record, mayRefill bool) {
	c := r.Change
	for _, u := range a.catalog.OnTable(c.Table) {
		switch c.Op {
		case event.Insert, event.Update, event.Delete, event.Touch:
			a.changeRow(p, u, r, mayRefill)
		case event.Truncate:
			a.cache.Void(u)
			if hook.Mutant(hook.TruncateOne) {
				return
			}
		default:
			a.voidSchema(u)
		}
	}
}

// voidSchema makes a use case void whose columns may have changed. They are
// forgotten first: a row read or shipped in between must not be taken for one
// of the new form.
func (a *Applier) voidSchema(u *proxy.UseCase) {
	u.Mapping.Forget()
	a.cache.Void(u)
}

// changeRow applies a change of one row to one use case: its old key and its
// new one. If the change does not tell a key it must have, every key may be
// meant.
func (a *Applier) changeRow(p *partition, u *proxy.UseCase, r *event.Record, mayRefill bool) {
	c := r.Change
	hadOld, hasNew := c.Op != event.Insert, c.Op == event.Insert || c.Op == event.Update
	var before, after []byte
	told := true
	if hadOld || len(c.Before) > 0 {
		before, told = appendKey(p.before[:0], u.Mapping, c.Before)
	}
	if told && hasNew {
		after, told = appendKey(p.after[:0], u.Mapping, c.After)
	}
	if !told {
		a.metrics.keyless.Inc()
		a.cache.Void(u)
		return
	}
	same := bytes.Equal(before, after)
	if before != nil {
		p.before = before
		if !same {
			a.cache.Change(proxy.Key{UseCase: u, Text: before}, nil, p.record)
		}
	}
	if after != nil && !(c.Op == event.Insert && hook.Mutant(hook.IgnoreInsert)) {
		p.after = after
		var image *proxy.Image
		// A key that a row moves to is another partition's.
		if mayRefill && (same || c.Op == event.Insert && before == nil) {
			image = a.imageOf(p, u, r)
		}
		a.cache.Change(proxy.Key{UseCase: u, Text: after}, image, p.record)
	}
}

// appendKey appends the key of a row. told is false if the fields do not say
// what it is. A row whose key has no spelling has no entry, and no key here.
func appendKey(dst []byte, m *row.Mapping, fields []row.Field) (key []byte, told bool) {
	if key, ok := m.AppendKey(dst, fields); ok {
		return key, true
	}
	for _, col := range m.Columns {
		if !tells(fields, col.Name) {
			return nil, false
		}
	}
	return nil, true
}

func tells(fields []row.Field, name string) bool {
	for i := range fields {
		if fields[i].Name == name {
			return fields[i].Kind != row.Unknown
		}
	}
	return false
}

// imageOf returns what may replace an entry, or nil if the change may not:
// each clause of contract 6.2 that the applier can judge.
func (a *Applier) imageOf(p *partition, u *proxy.UseCase, r *event.Record) *proxy.Image {
	c := r.Change
	if !c.Last && !hook.Mutant(hook.RefillNotLast) {
		return nil // a later change of the key is on its way
	}
	if !u.Mapping.Primary {
		return nil // other keys change from several partitions, in no order
	}
	if !a.wm.lifts(r.Stream) {
		return nil // positions of another history do not compare
	}
	if !a.past(p, c.Commit) {
		return nil // its as-of would lie in the future
	}
	fields := c.After
	if hook.Mutant(hook.RefillIncomplete) {
		fields = present(fields)
	}
	value, ok := u.Mapping.Row(fields)
	if !ok {
		return nil
	}
	a.metrics.images.Inc()
	p.image = proxy.Image{Row: value, Position: r.Position, Commit: c.Commit}
	return &p.image
}

// past reports whether t lies at or before src_hi. The clock is only asked for
// a t that an earlier answer does not cover: most changes come some time after
// their commit, and many at once.
func (a *Applier) past(p *partition, t proxy.Time) bool {
	falls := a.falls.Load()
	if t <= p.now && falls == p.nowFalls {
		return true
	}
	_, now := a.clock.Bounds()
	if now == proxy.Forever {
		return false
	}
	p.now, p.nowFalls = now, falls // a step of the clock is a fall
	return t <= now
}

// present is the mutant that takes what is not known for text.
func present(fields []row.Field) []row.Field {
	out := append([]row.Field(nil), fields...)
	for i := range out {
		if out[i].Kind == row.Unknown {
			out[i].Kind = row.Text
		}
	}
	return out
}
