package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Options say which file, and how hard it may be used.
type Options struct {
	Path        string        // of the database file, which must exist
	Readers     int           // connections that read at the same time; 0: 4
	BusyTimeout time.Duration // how long a statement waits for another client's lock; 0: 5 s
	WriteQueue  int           // calls of Apply that may wait for the writer; 0: 1024
}

func (o Options) withDefaults() Options {
	o.Readers = cmp.Or(o.Readers, 4)
	o.BusyTimeout = cmp.Or(o.BusyTimeout, 5*time.Second)
	o.WriteQueue = cmp.Or(o.WriteQueue, 1024)
	return o
}

// Source is a file's tables as a proxy.Source.
type Source struct {
	opts     Options
	mappings []*row.Mapping
	plan     atomic.Pointer[plan]
	readers  *readers
	writer   *writer
	closing  sync.Once
}

// Open opens the file, completes the specs by its catalog and starts the
// writer, which Close ends. It refuses a spec whose keys are not one to one
// with rows.
func Open(ctx context.Context, opts Options, specs []row.Spec) (*Source, *proxy.Catalog, error) {
	opts = opts.withDefaults()
	mappings, err := Complete(ctx, opts.Path, opts.BusyTimeout, specs)
	if err != nil {
		return nil, nil, err
	}
	catalog, err := proxy.NewCatalog(mappings...)
	if err != nil {
		return nil, nil, err
	}
	s := &Source{
		opts:     opts,
		mappings: mappings,
		readers:  newReaders(opts),
		writer:   newWriter(opts),
	}
	if err := s.learn(ctx); err != nil {
		s.readers.close()
		return nil, nil, err
	}
	go s.writer.run()
	return s, catalog, nil
}

// Complete makes specs into mappings by a file's catalog. The errors of all
// specs are joined.
func Complete(ctx context.Context, path string, busy time.Duration, specs []row.Spec) ([]*row.Mapping, error) {
	c, err := Dial(ctx, path, busy)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var mappings []*row.Mapping
	var refused []error
	for _, spec := range specs {
		t, err := Describe(ctx, c, spec.Table)
		if err != nil {
			refused = append(refused, fmt.Errorf("use case %q: %w", spec.Name, err))
			continue
		}
		s, err := fit(spec, t)
		if err != nil {
			refused = append(refused, fmt.Errorf("use case %q: %w", spec.Name, err))
			continue
		}
		m := &row.Mapping{Spec: spec, Columns: s.key, Primary: s.primary}
		m.Learn(m.Generation(), s.schema)
		mappings = append(mappings, m)
	}
	return mappings, errors.Join(refused...)
}

// Close ends the writer and closes the file. Writes that wait are refused, and
// so is every later call.
func (s *Source) Close() error {
	s.closing.Do(func() {
		s.writer.close()
		s.readers.close()
	})
	return nil
}

// Probe tells who the file is now and reads the source's clock, which for a
// file is this host's.
func (s *Source) Probe(ctx context.Context) (proxy.Identity, proxy.Time, error) {
	var head Head
	err := s.readers.use(ctx, func(c *Conn) (err error) {
		head, err = c.Head(ctx)
		return err
	})
	if err != nil {
		return proxy.Identity{}, proxy.Never, unavailable(s.opts.Path, err)
	}
	return head.Identity, proxy.Time(time.Now().UnixNano()), nil
}
