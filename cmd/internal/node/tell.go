package node

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/proxy/peer"
)

// tellTime is how long the other nodes are waited for when a person drops
// something.
const tellTime = time.Second

// tell tells all other nodes of the tier something, at once, and names those
// that may not have heard it. One that is away is among them: what it keeps it
// keeps.
func (t *tier) tell(something func(context.Context, *peer.Peer) error) (untold []string) {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), tellTime)
	defer cancel()
	var telling sync.WaitGroup
	var mu sync.Mutex
	for name, to := range t.place.Load().peers {
		telling.Go(func() {
			err := something(ctx, to)
			if err == nil {
				return
			}
			t.log.Warn("a node could not be told to drop something", "peer", name, "error", err)
			mu.Lock()
			defer mu.Unlock()
			untold = append(untold, name)
		})
	}
	telling.Wait()
	slices.Sort(untold)
	return untold
}
