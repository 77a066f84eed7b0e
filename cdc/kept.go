package cdc

import (
	"bytes"
	"errors"

	"github.com/freshet-cache/freshet/cdc/event"
)

// Kept is a record that could not be understood, for inspection.
type Kept struct {
	Partition int
	Offset    int64
	Table     string // empty: not known
	Reason    string
	Value     []byte // its first bytes
}

// So many records are kept, the newest, and so many bytes of each.
const (
	maxKept      = 32
	maxKeptBytes = 4096
)

// Kept returns the newest records that could not be understood, oldest first.
// They may hold what rows hold: they are for eyes that may see those.
func (a *Applier) Kept() []Kept {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Kept(nil), a.kept...)
}

// undecodable makes void whatever a record that cannot be read may have
// changed: its table, or everything. The mark stays, so that the record behind
// it shows a hole.
func (a *Applier) undecodable(p *partition, offset int64, value []byte, err error) {
	d := &event.DecodeError{Reason: err.Error()}
	errors.As(err, &d)
	a.unreadable(p, offset, d.Table, d.Reason, value)
}

func (a *Applier) unreadable(p *partition, offset int64, table, reason string, value []byte) {
	a.metrics.undecodable.Inc()
	a.keep(p, offset, value, table, reason)
	cases := a.catalog.OnTable(table)
	if len(cases) == 0 {
		cases = a.catalog.All() // a name nobody knows may be a part of the damage
	}
	for _, u := range cases {
		a.voidSchema(u)
	}
}

func (a *Applier) keep(p *partition, offset int64, value []byte, table, reason string) {
	a.log.Warn("record cannot be understood", "partition", p.id, "offset", offset, "reason", reason)
	k := Kept{Partition: p.id, Offset: offset, Table: table, Reason: reason,
		Value: bytes.Clone(value[:min(len(value), maxKeptBytes)])}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.kept) == maxKept {
		a.kept = append(a.kept[:0], a.kept[1:]...)
	}
	a.kept = append(a.kept, k)
}
