package cache

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/cache/fill"
	"github.com/freshet-cache/freshet/cache/store"
	"github.com/freshet-cache/freshet/proxy"
)

// Stream is what the cache asks of the change stream.
type Stream interface {
	// Load returns the watermark: every change visible at or before it has
	// been applied.
	Load() proxy.Time
	// Found reports that a fill sent at that source time was answered by the
	// primary id. It returns proxy.ErrNotPrimary if id is no primary of the
	// current history; the answer must then not be used.
	Found(id proxy.Identity, sent proxy.Time) error
}

// Clock bounds the source's clock now.
type Clock interface {
	Bounds() (lo, hi proxy.Time)
}

// Options are the cache's settings. The zero value of a field means its
// default.
type Options struct {
	// Bytes is the memory for entries. Default 256 MiB.
	Bytes int64
	// AbsenceShare of Bytes is set aside for cached absence, so that reads of
	// keys that do not exist cannot push out rows. Default 1/16.
	AbsenceShare float64
	// UseCases has one element per use case, by its ID.
	UseCases []UseCase
}

// UseCase are the settings of one use case.
type UseCase struct {
	// Bound is Δ. Default 2 s.
	Bound time.Duration
	// TTLMax is the longest life of an entry whatever the stream says.
	// Default 24 h. Each entry gets up to a tenth less.
	TTLMax time.Duration
	// MaxStale, if positive, is how old an answer may be when the source
	// cannot be read in time (on_unavailable: stale). 0: an error instead.
	MaxStale time.Duration
	// Timeout is how long a read waits for a fill. Default 1 s.
	Timeout time.Duration
	// NoRefresh switches off refreshing entries that are read shortly before
	// they leave the bound.
	NoRefresh bool
	// MaxBytes, if positive, gives the use case memory of its own, taken from
	// Bytes.
	MaxBytes int64
}

// DefaultBound is the bound of a use case that states none.
const DefaultBound = 2 * time.Second

// entries is bounded memory, as package store has it.
type entries interface {
	Get(hash uint64) *entry
	Has(hash uint64) bool
	Put(hash uint64, e *entry, size int)
	Drop(hash uint64)
	Settle()
	Used() (used, bound int64)
	Len() int64
	Close()
}

// Cache is the Source that remembers. All its methods may be called
// concurrently, but not once Run has returned.
type Cache struct {
	catalog *proxy.Catalog
	next    proxy.Source
	stream  Stream
	clock   Clock

	cases    []useCase // by ID
	stamps   stamps
	absences entries
	stores   []entries // all of them, absences first
	locks    *fill.Locks[flight]
	fills    sync.WaitGroup // goroutines that run fills
	metrics  *metrics
	trace    trace
}

// useCase is the state of one use case.
type useCase struct {
	UseCase
	epoch epoch
	rows  entries // shared by all that have no MaxBytes
}

var _ proxy.Source = (*Cache)(nil)

// New returns a cache in front of next. It refuses settings that contradict
// each other.
func New(catalog *proxy.Catalog, next proxy.Source, stream Stream, clock Clock, opts Options) (*Cache, error) {
	ristretto := func(bytes int64, evicted func(*entry)) (entries, error) {
		return store.New(bytes, evicted)
	}
	return build(catalog, next, stream, clock, opts, stampBits, ristretto)
}

// build is New over any memory and any number of stamp slots.
func build(catalog *proxy.Catalog, next proxy.Source, stream Stream, clock Clock, opts Options, bits uint, memory memory) (*Cache, error) {
	c := &Cache{
		catalog: catalog,
		next:    next,
		stream:  stream,
		clock:   clock,
		stamps:  newStamps(bits),
		locks:   fill.New[flight](),
		metrics: newMetrics(catalog),
		trace:   trace{voids: voids{cases: make([][]step, len(catalog.All()))}},
	}
	if len(opts.UseCases) != len(catalog.All()) {
		return nil, fmt.Errorf("settings for %d use cases, but there are %d", len(opts.UseCases), len(catalog.All()))
	}
	for _, u := range opts.UseCases {
		c.cases = append(c.cases, useCase{UseCase: u.withDefaults()})
	}
	if err := c.makeStores(opts, memory); err != nil {
		c.closeStores()
		return nil, err
	}
	return c, nil
}

// memory makes a store of that many bytes.
type memory func(bytes int64, evicted func(*entry)) (entries, error)

func (c *Cache) makeStores(opts Options, memory memory) error {
	total := cmp.Or(opts.Bytes, 256<<20)
	absent := int64(float64(total) * cmp.Or(opts.AbsenceShare, 1.0/16))
	shared := total - absent
	var err error
	if c.absences, err = c.makeStore(memory, "cached absence", absent); err != nil {
		return err
	}
	for i := range c.cases {
		u := &c.cases[i]
		if u.MaxBytes == 0 {
			continue
		}
		if u.rows, err = c.makeStore(memory, c.catalog.All()[i].Name, u.MaxBytes); err != nil {
			return err
		}
		shared -= u.MaxBytes
	}
	rows, err := c.makeStore(memory, "all use cases without max_bytes", shared)
	if err != nil {
		return err
	}
	for i := range c.cases {
		if c.cases[i].rows == nil {
			c.cases[i].rows = rows
		}
	}
	return nil
}

func (c *Cache) makeStore(memory memory, what string, bytes int64) (entries, error) {
	s, err := memory(bytes, c.evicted)
	if err != nil {
		return nil, fmt.Errorf("memory for %s: %w; raise the node's memory or lower max_bytes", what, err)
	}
	c.stores = append(c.stores, s)
	return s, nil
}

// Run keeps the cache until ctx ends, then waits for the fills that are under
// way. Callers must have stopped by then.
func (c *Cache) Run(ctx context.Context) error {
	<-ctx.Done()
	c.fills.Wait()
	c.closeStores()
	return nil
}

func (c *Cache) closeStores() {
	for _, s := range c.stores {
		s.Close()
	}
}

func (u UseCase) withDefaults() UseCase {
	u.Bound = cmp.Or(u.Bound, DefaultBound)
	u.TTLMax = cmp.Or(u.TTLMax, 24*time.Hour)
	u.Timeout = cmp.Or(u.Timeout, time.Second)
	return u
}
