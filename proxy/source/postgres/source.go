package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Options say which database, and how hard it may be used.
type Options struct {
	URL              string        // of the primary, as libpq reads it
	Replicas         []string      // URLs of replicas, for the use cases that read them
	Pool             int           // connections to each server; 0: 8
	ConnectTimeout   time.Duration // 0: 5 s
	AcquireTimeout   time.Duration // how long a call waits for a free connection; 0: 1 s
	StatementTimeout time.Duration // after which the server ends a statement; 0: 5 s
	Horizons         bool          // read proxy.Result.Horizon: for a stream that is gated here
}

func (o Options) withDefaults() Options {
	o.Pool = cmp.Or(o.Pool, 8)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 5*time.Second)
	o.AcquireTimeout = cmp.Or(o.AcquireTimeout, time.Second)
	o.StatementTimeout = cmp.Or(o.StatementTimeout, 5*time.Second)
	return o
}

// milliseconds is a duration as PostgreSQL's settings take it, at least one:
// zero would be none.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10)
}

// Source is a database's tables as a proxy.Source.
type Source struct {
	primary  *pool
	probes   *pool // of its own, so that a busy pool does not widen the clock
	asks     *pool // likewise: a stream waits for these answers
	replicas []*pool
	turn     atomic.Uint64 // whose turn it is among the replicas
	cases    map[*row.Mapping]*useCase
	closing  sync.Once
}

// Open connects to the primary and completes the specs by its catalog. It
// refuses a spec whose keys are not one to one with rows, or whose changes the
// log does not tell. A replica need not be there yet.
func Open(ctx context.Context, o Options, specs []row.Spec) (*Source, *proxy.Catalog, error) {
	o = o.withDefaults()
	s := &Source{cases: map[*row.Mapping]*useCase{}}
	config, err := Config(o.URL)
	if err != nil {
		return nil, nil, err
	}
	s.primary, s.probes, s.asks = newPool(config, o, o.Pool), newPool(config, o, 1), newPool(config, o, 1)
	for _, url := range o.Replicas {
		config, err := parse(url)
		if err != nil {
			return nil, nil, fmt.Errorf("replica: %w", err)
		}
		s.replicas = append(s.replicas, newPool(config, o, o.Pool))
	}
	catalog, err := s.complete(ctx, specs)
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, catalog, nil
}

// complete makes specs into the mappings of a catalog.
func (s *Source) complete(ctx context.Context, specs []row.Spec) (*proxy.Catalog, error) {
	var mappings []*row.Mapping
	err := s.primary.read(ctx, func(c *Conn) error {
		h, err := c.Head(ctx)
		if err != nil {
			return err
		}
		if !h.Identity.Known() {
			return errStandby
		}
		mappings, err = completeAll(ctx, c, specs)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, m := range mappings {
		name, err := ParseName(m.Table)
		if err != nil {
			return nil, err
		}
		if m.Replica && len(s.replicas) == 0 {
			return nil, unfit("use case %q reads replicas, and none is given: name one, or let it read the primary", m.Name)
		}
		s.cases[m] = &useCase{mapping: m, name: name}
	}
	return proxy.NewCatalog(mappings...)
}

// completeAll makes specs into mappings by a database's catalog. The errors of
// all specs are joined.
func completeAll(ctx context.Context, c *Conn, specs []row.Spec) ([]*row.Mapping, error) {
	var mappings []*row.Mapping
	var refused []error
	for _, spec := range specs {
		m, err := complete(ctx, c, spec)
		if classify(err) == isLost {
			return nil, err
		}
		if err != nil {
			refused = append(refused, fmt.Errorf("use case %q: %w", spec.Name, err))
			continue
		}
		mappings = append(mappings, m)
	}
	return mappings, errors.Join(refused...)
}

// complete makes a mapping of a spec. Its table is spelled in the one way of
// Name.String, however the spec spells it.
func complete(ctx context.Context, c *Conn, spec row.Spec) (*row.Mapping, error) {
	name, err := ParseName(spec.Table)
	if err != nil {
		return nil, err
	}
	spec.Table = name.String()
	t, err := Describe(ctx, c, name)
	if err != nil {
		return nil, err
	}
	s, err := fit(spec, t)
	if err != nil {
		return nil, err
	}
	m := &row.Mapping{Spec: spec, Columns: s.key, Primary: s.primary}
	m.Learn(m.Generation(), s.schema)
	return m, nil
}

// Close ends the connections, those in use when they come back. Later calls
// are refused.
func (s *Source) Close() error {
	s.closing.Do(func() {
		for _, p := range append(s.replicas, s.primary, s.probes, s.asks) {
			p.close()
		}
	})
	return nil
}

// Probe tells who the primary is now and reads its clock.
func (s *Source) Probe(ctx context.Context) (proxy.Identity, proxy.Time, error) {
	var head Head
	var micros int64
	err := s.probes.read(ctx, func(c *Conn) error {
		err := c.statement(ctx, true, &command{
			sql: "SELECT " + headList(false, committed) + ", (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::int8",
			row: rows(func(v [][]byte) (err error) {
				if head, err = parseHead(v, committed); err == nil {
					micros, err = strconv.ParseInt(string(v[headColumns]), 10, 64)
				}
				return err
			}),
		})
		if err == nil && !head.Identity.Known() {
			err = errStandby
		}
		return err
	})
	if err = s.primaryOnly(err); err != nil {
		return proxy.Identity{}, proxy.Never, unavailable(err)
	}
	return head.Identity, proxy.Time(micros * int64(time.Microsecond)), nil
}

// errStandby is what a server answers, or makes, that is no primary.
var errStandby = fmt.Errorf("%w: the server is a standby: name the primary, or all servers of which one is it", proxy.ErrNotPrimary)

// primaryOnly looks at what came of asking the primary. If it is none (any
// more), every connection is made anew: of several hosts another may be it now.
func (s *Source) primaryOnly(err error) error {
	if errors.Is(err, proxy.ErrNotPrimary) {
		s.primary.reset()
		s.probes.reset()
		s.asks.reset()
	}
	return err
}
