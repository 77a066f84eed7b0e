package route

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hot"
)

// Peer is another node of the tier. An error of Load or Forget that is a
// proxy.ErrShed says that too much waits for that node already, a
// proxy.ErrUnknownUseCase or proxy.ErrNotPrimary that it does not know these keys as
// this one does, a context.DeadlineExceeded that it did not answer in time; any
// other that it is away.
type Peer interface {
	// Load answers as a Source does. On an error nothing was answered; results
	// are not touched once it has returned. A context that is ended because of
	// context.DeadlineExceeded says that the node was late.
	Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) error
	// Forget drops what the node keeps of keys.
	Forget(ctx context.Context, keys []proxy.Key) error
}

// Placement says who owns a key, at one moment; nil: this node. Peers must be
// comparable: the same node is the same Peer.
type Placement interface {
	Owner(key []byte) Peer
}

// Tier tells the placement of now. It is asked once per batch.
type Tier interface {
	Now() Placement
}

// Cache is the own path to a key.
type Cache interface {
	proxy.Source
	Invalidate(key proxy.Key)
}

// Options are the settings of a Route. The zero value of a field means its
// default.
type Options struct {
	// Timeouts are how long a read of each use case may take, by its ID: what
	// the cache has, too. Default 1 s each.
	Timeouts []time.Duration
	// Forget is how long a write waits until its keys are forgotten at their
	// owners. Default 100 ms.
	Forget time.Duration
	// Hot says which keys of others are kept here, too.
	Hot hot.Options
}

// Route is the Source that picks one: the own path, or the node that owns a
// key. All its methods may be called concurrently.
type Route struct {
	catalog  *proxy.Catalog
	own      Cache
	tier     Tier
	timeouts []time.Duration // by use case
	forget   time.Duration

	seed    maphash.Seed
	hot     *hot.Keys // of others
	list    *hot.List // of keys read by the own path
	floors  floors
	batches sync.Pool
	metrics metrics
}

var _ proxy.Source = (*Route)(nil)

// New returns a Route. It starts nothing.
func New(catalog *proxy.Catalog, own Cache, tier Tier, o Options) *Route {
	r := &Route{
		catalog: catalog, own: own, tier: tier,
		timeouts: slices.Clone(o.Timeouts), forget: o.Forget,
		seed: maphash.MakeSeed(), hot: hot.NewKeys(o.Hot), list: hot.NewList(),
		batches: sync.Pool{New: func() any { return new(batch) }},
		metrics: newMetrics(),
	}
	if r.forget == 0 {
		r.forget = 100 * time.Millisecond
	}
	for range len(catalog.All()) - len(r.timeouts) {
		r.timeouts = append(r.timeouts, 0)
	}
	for i := range r.timeouts {
		if r.timeouts[i] == 0 {
			r.timeouts[i] = time.Second
		}
	}
	return r
}

// Load implements proxy.Source. A batch of own keys goes straight to the own
// path; it is split at the first key of another node.
func (r *Route) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	now := r.tier.Now()
	var b *batch
	hot := 0
	for i := range reqs {
		owner := now.Owner(reqs[i].Key.Text)
		var hash uint64
		if owner != nil {
			if hash = r.hash(reqs[i].Key.Text); r.hot.Saw(hash) {
				owner = nil
				hot++
			}
		}
		switch {
		case owner == nil && b == nil:
		case owner == nil:
			b.own.add(i, reqs[i])
		default:
			if b == nil {
				b = r.begin(reqs[:i])
			}
			b.to(owner, r.timeouts[reqs[i].Key.UseCase.ID]).add(i, r.floored(reqs[i], hash))
		}
	}
	if b == nil {
		r.loadOwn(ctx, reqs, results, hot)
		return
	}
	r.run(ctx, b, hot)
	b.merge(results)
	r.end(b)
}

// loadOwn reads by the own path.
func (r *Route) loadOwn(ctx context.Context, reqs []proxy.Request, results []proxy.Result, hot int) {
	if i := r.list.Pick(len(reqs)); i >= 0 {
		r.list.Saw(reqs[i].Key.Text)
	}
	r.metrics.add(outcomeOwn, len(reqs)-hot)
	r.metrics.add(outcomeHot, hot)
	r.own.Load(ctx, reqs, results)
}

// hash names a key in the sketch and the floors. Nobody outside can find keys
// that share one.
func (r *Route) hash(key []byte) uint64 { return maphash.Bytes(r.seed, key) }

// floored is a request as another node is to answer it. Who reads replicas gives
// up reading the own writes: a replica that is behind could only refuse.
func (r *Route) floored(req proxy.Request, hash uint64) proxy.Request {
	if req.Key.UseCase.Mapping.Replica {
		return req
	}
	req.Token = max(req.Token, r.floors.of(hash))
	return req
}

// Hottest returns the keys that the own path was asked for most in the last
// minutes and that want accepts, hottest first, at most that many.
func (r *Route) Hottest(want func(key []byte) bool, most int) [][]byte {
	return r.list.Hottest(want, most)
}
