package audit

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// Peeker looks at what a node holds of a key, without a fill. One that asks
// several nodes would answer with the entry of the one that is worst off.
type Peeker interface {
	Peek(key proxy.Key) proxy.Held
}

// Picker finds keys that are held.
type Picker interface {
	// Any returns some key that was read or filled lately, as random chooses,
	// or false if it chose none. The key is the caller's.
	Any(random uint64) (key proxy.Key, ok bool)
}

// Tracer remembers what happened to keys.
type Tracer interface {
	// Watch keeps what happens to a key from now on, its reads too.
	Watch(key proxy.Key)
	// Trace says what is remembered of a key. It tells no values.
	Trace(key proxy.Key) []string
}

// Cache is what is audited.
type Cache interface {
	Peeker
	Picker
	Tracer
}

// Loader reads the source, around the cache.
type Loader interface {
	Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result)
}

// Stream knows the primaries of the current history.
type Stream interface {
	// Found returns an error if id, which answered what was sent at that source
	// time, is no primary of the current history.
	Found(id proxy.Identity, sent proxy.Time) error
}

// Clock bounds the source's clock now.
type Clock interface {
	Bounds() (lo, hi proxy.Time)
}

// Options are the auditor's settings. The zero value of a field means its
// default.
type Options struct {
	// Bounds has each use case's Δ, by its ID.
	Bounds []time.Duration
	// OneIn says which share of the changes is followed: one in so many, and
	// fewer while these are too many. Default 100.
	OneIn int
	// Slack is how much later than said a look may find a change consistent
	// and still count it. Default 500 ms.
	Slack time.Duration
	// ReadsPerSecond bounds how many keys are read from the source. Default 50.
	ReadsPerSecond int
}

const (
	// beat is how often the auditor looks for what is due: ten times a second
	// costs an idle node nothing to speak of, and is exact enough for slacks of
	// some hundred milliseconds.
	beat = 100 * time.Millisecond
	// readTimeout is how long one batch may take. A source that needs longer has
	// other cares.
	readTimeout = 2 * time.Second
	// maxPending changes wait for their looks: some 5 MiB.
	maxPending = 16384
	// maxInbox changes wait to be taken in: two beats of a million changes a
	// second, of which one in a hundred is followed.
	maxInbox = 2048
)

// Auditor compares what a node holds with the source.
type Auditor struct {
	catalog *proxy.Catalog
	cache   Cache
	source  Loader
	stream  Stream
	clock   Clock
	opts    Options
	log     *slog.Logger
	metrics *metrics

	inbox     chan *sample
	share     share    // its limit is read by all
	schedules [][]look // by use case

	// Of the goroutine that runs:
	now      proxy.Time // src_hi at the beat
	pending  pending
	suspects suspects
	credit   float64 // reads of the source that may be made now
	odd      int     // of an odd number of reads changes have one more
	random   *rand.Rand

	mu   sync.Mutex
	kept []*violation
}

// New returns an auditor.
func New(catalog *proxy.Catalog, cache Cache, source Loader, stream Stream, clock Clock, opts Options, log *slog.Logger) *Auditor {
	opts = opts.withDefaults()
	a := &Auditor{
		catalog: catalog, cache: cache, source: source, stream: stream, clock: clock,
		opts: opts, log: log, metrics: newMetrics(catalog),
		inbox: make(chan *sample, maxInbox), now: proxy.Never,
		random: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
	}
	a.setShare(0)
	for _, bound := range opts.Bounds {
		a.schedules = append(a.schedules, schedule(bound+opts.Slack))
	}
	return a
}

func (o Options) withDefaults() Options {
	if o.OneIn == 0 {
		o.OneIn = 100
	}
	if o.Slack == 0 {
		o.Slack = 500 * time.Millisecond
	}
	if o.ReadsPerSecond == 0 {
		o.ReadsPerSecond = 50
	}
	return o
}

// Run audits until ctx ends.
func (a *Auditor) Run(ctx context.Context) error {
	t := time.NewTicker(beat)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			a.beat(ctx)
		}
	}
}

// beat does what is due.
func (a *Auditor) beat(ctx context.Context) {
	lo, hi := a.clock.Bounds()
	if lo == proxy.Never || hi == proxy.Forever {
		return // nothing can be judged yet
	}
	passed := beat // since the last one: more, if this was kept from running
	switch {
	case hi < a.now:
		a.forget() // the clock went back: times from before do not compare
	case a.now != proxy.Never:
		passed = hi.Sub(a.now)
	}
	a.now = hi
	a.credit = min(a.credit+float64(a.opts.ReadsPerSecond)*passed.Seconds(), float64(a.opts.ReadsPerSecond))
	a.takeIn()
	a.suspectAgain(ctx)
	a.lookAt(ctx, a.due())
	a.followUp()
}

// forget gives up what waits and what is suspected.
func (a *Auditor) forget() {
	a.metrics.dropped.Add(float64(len(a.pending)))
	a.pending = nil
	for _, s := range a.suspects {
		a.metrics.suspicion(s.key, suspicionGivenUp)
	}
	a.suspects = nil
}
