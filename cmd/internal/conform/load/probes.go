package load

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/client"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
)

// probePause is between two probes.
const probePause = 100 * time.Millisecond

// probe writes, waits for the bound of a use case and then reads at every
// node, again and again: is the write visible everywhere?
func (l *Load) probe(ctx context.Context, u *UseCase, d *draw) (err error) {
	whole := context.WithoutCancel(ctx)
	conn, err := l.db.Connect(whole)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	writes := l.history.Log()
	eyes := make([]*eye, len(l.tier.Nodes()))
	for i, node := range l.tier.Nodes() {
		eyes[i] = &eye{l: l, node: node, log: l.history.Log()}
		defer eyes[i].close()
	}
	for pause.For(ctx, probePause) {
		id := hotHead + d.IntN(4*hotHead) // read often enough to be cached
		done, err := conn.Transact(whole, []table.Change{{Op: table.Put, ID: id, Value: l.reserve(1)}}, false)
		if err != nil {
			return err
		}
		if !done.Committed {
			l.postpone(pendingWrite{done: done, op: "probe"})
			continue
		}
		if err := l.committed(writes, &done, "probe"); err != nil {
			return err
		}
		last := done.Logged[len(done.Logged)-1]
		if !pause.For(ctx, max(0, done.Acked.Add(u.Bound).Sub(now()))) {
			break
		}
		if err := look(ctx, eyes, u, id, last.Seq); err != nil {
			return err
		}
	}
	for _, e := range eyes {
		if err := e.log.Flush(); err != nil {
			return err
		}
	}
	return writes.Flush()
}

// look reads at every node at the same time.
func look(ctx context.Context, eyes []*eye, u *UseCase, id int, seq uint64) error {
	errs := make([]error, len(eyes))
	var all sync.WaitGroup
	for i, e := range eyes {
		all.Go(func() { errs[i] = e.look(ctx, u, id, seq) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// eye is one connection to each node.
type eye struct {
	l    *Load
	node string
	log  *history.Log
	c    *client.Client // nil: none
}

func (e *eye) close() {
	if e.c != nil {
		e.c.Close()
		e.c = nil
	}
}

// look asks for a row. A node that is down is not asked: there is nobody to
// see anything.
func (e *eye) look(ctx context.Context, u *UseCase, id int, seq uint64) error {
	if e.c == nil {
		if e.c = e.l.dial(ctx, e.node); e.c == nil {
			return nil
		}
	}
	r := e.l.read(u, id, history.Plain)
	r.Probe = seq
	whole, err := e.l.pipeline(e.c, e.log, e.node, []command{{args: []string{"FRESHET.GET", r.Key, "PROOF"}, reads: []read{r}, proof: true}})
	if !whole {
		e.close()
	}
	return err
}
