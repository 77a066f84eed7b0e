package cache

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// The source of the model: a database whose commit order is not its visibility
// order, and a relay with its gate. What the relay writes into is in
// model_log_test.go.

const (
	modelKeys       = 3
	modelPartitions = 2
	unit            = proxy.Time(10_000_000) // 10 ms: one tick of the model
)

// version is one committed state of a key: n > 0, or 0 for "no such row".
type version struct {
	n       int
	visible proxy.Time // when it became visible
}

// transaction is one committed transaction of the source.
type transaction struct {
	id      uint64
	pos     uint64 // of its commit record
	commit  proxy.Time
	visible bool
	changes []modelChange
	table   event.Op // Truncate or SchemaChanged; 0: the changes count
}

type modelChange struct {
	key    int
	n      int    // version written; 0: deleted
	rowPos uint64 // of the row's own record, before the commit's
	toast  bool   // the image lacks a value that did not change
}

type modelSource struct {
	w        *model
	txs      []*transaction
	history  [modelKeys][]version // visible versions, in order
	versions int
	pos      uint64
	identity proxy.Identity

	shipped int // transactions
	check   *modelCheckpoint
	zombie  *modelZombie
	modelLog
}

// modelCheckpoint is a checkpoint on its way: T is read, then it is committed,
// and what lies before it in the log is shipped before it is.
type modelCheckpoint struct {
	t    proxy.Time
	pos  uint64
	need int // transactions that must be shipped first
}

func newModelSource(w *model, seed uint64) *modelSource {
	s := &modelSource{w: w, identity: proxy.Identity{System: modelSystem(seed), Timeline: 1}}
	for k := range s.history {
		s.history[k] = []version{{n: 0, visible: 0}}
	}
	s.stream.Topic = seed << 8
	s.logs = make([][][]byte, modelPartitions)
	s.newStream()
	return s
}

// current is the visible version of a key.
func (s *modelSource) current(k int) int {
	h := s.history[k]
	return h[len(h)-1].n
}

// locked reports whether a transaction that committed, but is not visible,
// still holds the row.
func (s *modelSource) locked(k int) bool {
	for _, tx := range s.txs {
		if tx.visible {
			continue
		}
		if tx.table != 0 {
			return true
		}
		for _, c := range tx.changes {
			if c.key == k {
				return true
			}
		}
	}
	return false
}

// commit makes a transaction that writes some keys, one of them perhaps twice.
func (s *modelSource) commit(keys ...int) *transaction {
	tx := &transaction{id: uint64(len(s.txs) + 1), commit: s.w.now}
	for _, k := range keys {
		s.pos++
		s.versions++
		n := s.versions
		if s.w.rng.IntN(4) == 0 {
			n = 0
		}
		tx.changes = append(tx.changes, modelChange{key: k, n: n, rowPos: s.pos, toast: n > 0 && s.w.rng.IntN(6) == 0})
	}
	s.pos++
	tx.pos = s.pos
	s.txs = append(s.txs, tx)
	return tx
}

func (s *modelSource) commitTable(op event.Op) {
	s.pos++
	s.txs = append(s.txs, &transaction{id: uint64(len(s.txs) + 1), commit: s.w.now, pos: s.pos, table: op})
}

// show makes a committed transaction visible, all of it at once.
func (s *modelSource) show(tx *transaction) {
	s.w.note("visible tx %d: table op %d, %+v", tx.id, tx.table, tx.changes)
	s.w.now++ // no two things happen at one moment
	tx.visible = true
	after := map[int]int{}
	if tx.table == event.Truncate {
		for k := range modelKeys {
			after[k] = 0
		}
	}
	for _, c := range tx.changes {
		after[c.key] = c.n
	}
	for k := range modelKeys {
		if n, ok := after[k]; ok && n != s.current(k) {
			s.history[k] = append(s.history[k], version{n: n, visible: s.w.now})
		}
	}
}

func (s *modelSource) hidden() []*transaction {
	var out []*transaction
	for _, tx := range s.txs {
		if !tx.visible {
			out = append(out, tx)
		}
	}
	return out
}

// ship writes the next transaction to the log, if the gate lets it.
func (s *modelSource) ship() {
	if s.shipped == len(s.txs) || s.zombie != nil && s.w.rng.IntN(4) > 0 {
		return
	}
	tx := s.txs[s.shipped]
	if s.check != nil && s.check.pos != 0 && s.shipped >= s.check.need {
		return // the checkpoint comes before it
	}
	if !tx.visible && !hook.Mutant(hook.NoRelayGate) {
		return
	}
	s.shipped++
	for i, c := range tx.changes {
		last := true
		for _, later := range tx.changes[i+1:] {
			last = last && later.key != c.key
		}
		s.shipChange(tx, i, c, last)
	}
	if tx.table != 0 {
		for p := range s.stream.Partitions {
			s.write(p, proxy.Position{Commit: tx.pos}, &event.Change{Table: "t", Op: tx.table, Tx: tx.id, Commit: tx.commit}, nil)
		}
	}
}

func (s *modelSource) shipChange(tx *transaction, i int, c modelChange, last bool) {
	id := row.Field{Name: "id", Kind: row.Number, Value: strconv.AppendInt(nil, int64(c.key), 10)}
	ch := &event.Change{Table: "t", Op: event.Update, Tx: tx.id, Commit: tx.commit, Last: last, Before: []row.Field{id}}
	switch {
	case c.n == 0:
		ch.Op = event.Delete
	case c.toast:
		ch.After = []row.Field{id, {Name: "v", Kind: row.Unknown}}
	default:
		ch.After = []row.Field{id, modelField(c.key, c.n)}
	}
	if ch.Op == event.Update && !s.existed(tx, i, c.key) {
		ch.Op, ch.Before = event.Insert, nil
	}
	s.write(c.key%s.stream.Partitions, proxy.Position{Commit: tx.pos, Seq: uint64(i + 1)}, ch, nil)
}

// existed reports whether a row was there before change i of tx.
func (s *modelSource) existed(tx *transaction, i, key int) bool {
	for j := i - 1; j >= 0; j-- {
		if tx.changes[j].key == key {
			return tx.changes[j].n != 0
		}
	}
	was := 0
	for _, earlier := range s.txs {
		if earlier == tx {
			break
		}
		if earlier.table == event.Truncate {
			was = 0
		}
		for _, c := range earlier.changes {
			if c.key == key {
				was = c.n
			}
		}
	}
	return was != 0
}

// checkpoint begins a checkpoint, or goes on with the one that was begun.
func (s *modelSource) checkpoint() {
	if s.zombie != nil && s.w.rng.IntN(3) > 0 {
		s.zombieCheckpoint()
		return
	}
	if s.check == nil {
		s.check = &modelCheckpoint{t: s.w.now}
		s.w.meanwhile(2)
		s.pos++
		s.check.pos, s.check.need = s.pos, len(s.txs)
		return
	}
	if s.check.pos == 0 { // it is being begun
		return
	}
	if s.shipped < s.check.need {
		s.ship()
		return
	}
	t := s.check.t
	if hook.Mutant(hook.CheckpointNow) {
		t = s.w.now
	}
	for p := range s.stream.Partitions {
		s.write(p, proxy.Position{Commit: s.check.pos}, nil, &event.Checkpoint{T: t, Stream: s.stream, Nonce: 1})
	}
	s.check = nil
}

// failover promotes another primary: another identity, another stream. What
// was not visible yet is gone.
func (s *modelSource) failover() {
	var kept []*transaction
	for _, tx := range s.txs {
		if tx.visible {
			kept = append(kept, tx)
		}
	}
	s.check, s.zombie = nil, nil
	for before := -1; before != s.shipped; {
		before = s.shipped
		s.ship() // the old relay has a log to read to its end
	}
	if s.shipped == len(s.txs) {
		s.zombie = &modelZombie{stream: s.stream, last: slices.Clone(s.last), pos: s.pos}
	}
	s.txs, s.shipped = kept, len(kept) // the new slot begins at its end
	s.identity.Timeline++
	s.newStream()
}

// modelZombie is a primary that lives on after a failover, and its relay: it
// knows of no changes any more, and goes on saying so.
type modelZombie struct {
	stream event.StreamID
	last   []proxy.Position
	pos    uint64
}

func (s *modelSource) zombieCheckpoint() {
	z := s.zombie
	z.pos++
	for p := range z.stream.Partitions {
		r := &event.Record{Stream: z.stream.Hash(), Prev: z.last[p], Position: proxy.Position{Commit: z.pos},
			Checkpoint: &event.Checkpoint{T: s.w.now, Stream: z.stream, Nonce: 1}}
		s.logs[p] = append(s.logs[p], event.Append(nil, r))
		z.last[p] = r.Position
	}
}

func modelField(key, n int) row.Field {
	return row.Field{Name: "v", Kind: row.Text, Value: fmt.Appendf(nil, "%d/%d", key, n)}
}

// modelRow is what a statement reads of a key.
func modelRow(key, n int) row.Row {
	if n == 0 {
		return row.Row{}
	}
	r, _ := row.Encode(schema, []row.Field{modelField(key, n)})
	return r
}

// parse is the version in a row; ok is false if it is not one of that key.
func parse(r row.Row, key int) (n int, ok bool) {
	if !r.Exists() {
		return 0, true
	}
	k, v, _ := strings.Cut(text(r), "/")
	n, err := strconv.Atoi(v)
	return n, err == nil && k == strconv.Itoa(key)
}

// snapshot answers a fill from what is visible now. The position is the end
// of the log, visible or not, as a database tells it.
func (s *modelSource) snapshot(reqs []proxy.Request) []proxy.Result {
	s.w.now++
	results := make([]proxy.Result, len(reqs))
	for i, r := range reqs {
		k := keyNumber(r.Key.Text)
		s.w.note("source answers %s: version %d", r.Key.Text, s.current(k))
		results[i] = proxy.Result{Row: modelRow(k, s.current(k)), Position: proxy.Position{Commit: s.pos, Seq: 1 << 30}, Primary: s.identity}
	}
	return results
}

func keyNumber(text []byte) int { return int(text[len(text)-1] - '0') }

// Load is not used: fills are sent and landed step by step.
func (s *modelSource) Load(context.Context, []proxy.Request, []proxy.Result) {
	panic("the model sends fills itself")
}

// Apply commits a write; other actors move before its reply is back.
func (s *modelSource) Apply(_ context.Context, writes []proxy.Write, results []proxy.Written) {
	for i, w := range writes {
		k := keyNumber(w.Key.Text)
		if s.locked(k) {
			results[i].Err = &proxy.RejectedError{Reason: "the row is locked"}
			continue
		}
		tx := &transaction{id: uint64(len(s.txs) + 1), commit: s.w.now}
		s.pos += 2
		s.versions++
		tx.pos = s.pos
		tx.changes = []modelChange{{key: k, n: s.versions, rowPos: s.pos - 1}}
		s.txs = append(s.txs, tx)
		s.w.written = s.versions
		s.w.meanwhile(3)
		if !tx.visible {
			s.show(tx)
		}
		s.w.meanwhile(3)
	}
}
