package cache

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

type modelFill struct {
	flights []*flight
	reqs    []proxy.Request // nil: not sent
	results []proxy.Result  // nil: the source has not answered
	landed  bool
}

type modelRead struct {
	invoked proxy.Time
	req     proxy.Request
	result  []proxy.Result
	pending *pending
	least   int // the version the last finished write of this key left
}

type modelToken struct {
	text  string
	key   int
	token proxy.Time
	n     int
}

func (w *model) key() proxy.Key {
	u := w.catalog.All()[w.rng.IntN(2)]
	hot := max(0, w.rng.IntN(modelKeys+3)-3) // most want key 0
	return proxy.Key{UseCase: u, Text: fmt.Appendf(nil, "%s:%d", u.Name, hot)}
}

func (w *model) read() {
	r := &modelRead{req: proxy.Request{Key: w.key()}, result: make([]proxy.Result, 1), invoked: w.now}
	k := keyNumber(r.req.Key.Text)
	switch w.rng.IntN(10) {
	case 0:
		r.req.Strong = true
	case 1:
		r.req.MaxStale = time.Duration(proxy.Time(1+w.rng.IntN(10)) * unit)
	case 2:
		r.req.MaxStale = time.Duration(4 * modelBound)
	case 3:
		for _, t := range w.tokens {
			if t.key == k {
				r.req.Token, r.least = t.token, t.n
			}
		}
	}
	for _, t := range w.tokens { // a write of this very key that has been answered
		if t.text == string(r.req.Key.Text) {
			r.least = max(r.least, t.n)
		}
	}
	r.req.Unkept = w.foreign && w.rng.IntN(2) == 0
	w.stats.reads++
	w.note("read %s %+v, unkept %v", r.req.Key.Text, r.req.Freshness, r.req.Unkept)
	if p := w.node.begin([]proxy.Request{r.req}, r.result); p != nil {
		r.pending = p
		if len(p.start) > 0 {
			w.sending = append(w.sending, &modelFill{flights: p.start})
		}
		if len(p.waits) > 0 {
			if !r.req.Unkept && p.waits[0].flight.keeping.state.Load() == dropped {
				w.fail("unkept", "%s is to be kept, and shares a fill that has kept nothing", r.req.Key.Text)
			}
			w.reads = append(w.reads, r)
			return
		}
	}
	w.answered(r)
}

// finishReads answers the reads whose fills have landed.
func (w *model) finishReads() {
	w.reads = slices.DeleteFunc(w.reads, func(r *modelRead) bool {
		f := r.pending.waits[0].flight
		select {
		case <-f.done:
			r.result[0] = f.result
			w.answered(r)
			return true
		default:
			return false
		}
	})
}

// moveFill takes one fill on: sent, answered, landed, left; often through
// several of these at once, so that entries live to be read.
func (w *model) moveFill() {
	for len(w.sending) > 0 {
		w.fillStep(w.rng.IntN(min(2, len(w.sending))))
		if w.rng.IntN(4) == 0 {
			return
		}
	}
}

func (w *model) fillStep(i int) {
	f := w.sending[i]
	switch {
	case f.reqs == nil:
		w.oneFillPerKey(f)
		f.reqs = w.node.send(f.flights)
		w.note("fill sent %s (%d)", f.flights[0].key, len(f.flights))
		w.stats.fills += len(f.reqs)
	case f.results == nil:
		f.results = w.source.snapshot(f.reqs)
		if w.rng.IntN(20) == 0 {
			f.results[0] = proxy.Result{Err: proxy.ErrUnavailable}
		}
	case !f.landed:
		w.node.land(f.flights, f.results)
		w.keptAsAsked(f.flights)
		w.note("fill landed %s pos %v installed %v", f.flights[0].key, f.results[0].Position, f.flights[0].home != nil)
		f.landed = true
	default:
		w.sending = slices.Delete(w.sending, i, i+1)
		if next := w.node.leave(f.flights); len(next) > 0 {
			w.sending = append(w.sending, &modelFill{flights: next})
		}
	}
}

func (w *model) write() {
	key := w.key()
	k := keyNumber(key.Text)
	var out [1]proxy.Written
	put := proxy.Write{Key: key, Op: proxy.Put, Fields: []row.Field{modelField(k, w.source.versions+1)}}
	w.node.Apply(context.Background(), []proxy.Write{put}, out[:])
	if out[0].Err == nil {
		w.tokens = append(w.tokens, modelToken{text: string(key.Text), key: k, token: out[0].Token, n: w.written})
	}
}
