package route

import (
	"context"
	"sync"

	"github.com/freshet-cache/freshet/proxy"
)

// Apply implements proxy.Source: writes are carried out here, whoever owns the
// keys, so that none depends on another node's health, and those that are joined
// stay one transaction. Before they are answered their keys have floors, and
// their owners have been told to forget them.
func (r *Route) Apply(ctx context.Context, writes []proxy.Write, results []proxy.Written) {
	r.own.Apply(ctx, writes, results)
	now := r.tier.Now()
	var told []forgotten
	for i := range writes {
		token := results[i].Token
		if token == 0 { // certainly not carried out
			continue
		}
		key := writes[i].Key
		r.floors.raise(r.hash(key.Text), token)
		if owner := now.Owner(key.Text); owner != nil {
			told = add(told, owner, key)
		}
	}
	if len(told) > 0 {
		r.tell(ctx, told)
	}
}

// forgotten are keys that one peer is to forget.
type forgotten struct {
	peer Peer
	keys []proxy.Key
}

func add(all []forgotten, peer Peer, key proxy.Key) []forgotten {
	for i := range all {
		if all[i].peer == peer {
			all[i].keys = append(all[i].keys, key)
			return all
		}
	}
	return append(all, forgotten{peer: peer, keys: []proxy.Key{key}})
}

// tell has peers forget keys, all at once, and waits for them, but not long: a
// floor keeps this node's reads right without it, and the stream everybody's
// within the bound. A caller who has left does not end it: the write is done.
func (r *Route) tell(ctx context.Context, all []forgotten) {
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.forget)
	defer cancel()
	var others sync.WaitGroup
	for _, f := range all[1:] {
		others.Go(func() { r.forgetAt(wait, f) })
	}
	r.forgetAt(wait, all[0])
	others.Wait()
}

func (r *Route) forgetAt(ctx context.Context, f forgotten) {
	if err := f.peer.Forget(ctx, f.keys); err != nil {
		r.metrics.unforgotten.Add(uint64(len(f.keys)))
	}
}
