package gate

import (
	"errors"
	"iter"

	"github.com/freshet-cache/freshet/proxy/hook"
)

// Use says where a gate stands.
type Use uint8

// The uses of a gate.
const (
	Relay Use = iota // nothing is shipped before it is visible
	Node             // nothing is applied before it is visible
)

// ErrFull is returned by Add when the gate holds as many items as it may. The
// item was not taken: its owner stops reading the log, and offers it again
// after a release.
var ErrFull = errors.New("gate is full")

// Gate holds items in order.
type Gate[T any] struct {
	use   Use
	limit int
	held  []held[T]
}

type held[T any] struct {
	tx   uint64
	item T
}

// New returns an empty gate that holds at most limit items.
func New[T any](use Use, limit int) *Gate[T] {
	return &Gate[T]{use: use, limit: limit}
}

// Len returns how many items are held.
func (g *Gate[T]) Len() int { return len(g.held) }

// Add takes an item of a transaction; with tx 0 it needs no gate of its own
// (a checkpoint), and only queues behind what is held. It returns ErrFull.
func (g *Gate[T]) Add(tx uint64, item T) error {
	if len(g.held) >= g.limit {
		return ErrFull
	}
	g.held = append(g.held, held[T]{tx, item})
	return nil
}

// Release hands out, in order, the items up to the first whose transaction is
// not visible. visible asks one snapshot, which must have been taken on the
// primary: a replica's shows transactions that its primary does not. It is
// asked once for neighbours of one transaction. An item that was handed out is
// held no more; the loop may end early.
func (g *Gate[T]) Release(visible func(tx uint64) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		var shown uint64
		for len(g.held) > 0 {
			h := g.held[0]
			if h.tx != 0 && h.tx != shown && !g.open() && !visible(h.tx) {
				return
			}
			shown = h.tx
			g.held[0] = held[T]{} // lets go of what the item refers to
			g.held = g.held[1:]
			if !yield(h.item) {
				return
			}
		}
		g.held = nil // appending starts at the front of new memory
	}
}

// open is the mutants that leave the gate out.
func (g *Gate[T]) open() bool {
	return g.use == Relay && hook.Mutant(hook.NoRelayGate) || g.use == Node && hook.Mutant(hook.NoNodeGate)
}
