package doctor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/clock"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

func (g *gatherer) source(ctx context.Context) {
	ctx, cancel := impatient(ctx)
	defer cancel()
	f := g.facts
	if f.postgres() {
		f.Database, f.Reached = postgres.Inspect(ctx, g.reach.Postgres, g.reach.Specs, g.interest())
		return
	}
	f.File, f.Reached = inspectFile(ctx, f.Config.Source.SQLite.Path)
}

// interest is what of the database belongs to the stream.
func (g *gatherer) interest() (in postgres.Interest) {
	f := g.facts
	if !f.debezium() {
		in.Slot, in.Publication = f.Config.Relay.Slot, f.Config.Relay.Publication
		return in
	}
	if tables, err := postgres.CheckpointTables(f.Config.Stream.Debezium.CheckpointTable, len(f.Config.Stream.Debezium.Topics)); err == nil {
		in.Checkpoints = tables // a name that cannot be read is found by the plan
	}
	for i := range f.Connectors {
		if c := &f.Connectors[i]; c.isPostgres() {
			in.Slot, in.Publication = c.slot(), c.publication()
			break
		}
	}
	return in
}

func inspectFile(ctx context.Context, path string) (*File, error) {
	c, err := sqlite.Dial(ctx, path, time.Second)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	f := &File{}
	err = c.Snapshot(ctx, func() error {
		_, err := c.Head(ctx)
		if errors.Is(err, sqlite.ErrNotInstalled) {
			return nil
		}
		f.Installed = err == nil
		if err == nil {
			err = c.Row(ctx, []any{&f.Backlog}, "SELECT count(*) FROM "+sqlite.OutboxTable)
		}
		return err
	})
	return f, err
}

// accepted asks whether a node would take the source as it is.
func (g *gatherer) accepted(ctx context.Context) {
	ctx, cancel := impatient(ctx)
	defer cancel()
	g.facts.Accepted = node.Check(ctx, g.facts.Config)
}

// shippable asks whether a relay would.
func (g *gatherer) shippable(ctx context.Context) {
	if g.facts.debezium() {
		return
	}
	ctx, cancel := impatient(ctx)
	defer cancel()
	g.facts.Shippable = node.CheckRelay(ctx, g.facts.Config)
}

func (g *gatherer) replicas(ctx context.Context) {
	ctx, cancel := impatient(ctx)
	defer cancel()
	g.facts.Replicas = make([]Replica, len(g.reach.Postgres.Replicas))
	var all sync.WaitGroup
	for i, url := range g.reach.Postgres.Replicas {
		all.Go(func() {
			r := &g.facts.Replicas[i]
			r.Facts, r.Err = postgres.InspectReplica(ctx, url, g.reach.Postgres)
		})
	}
	all.Wait()
}

// probes is how often the clock is read before anything is timed by it, and
// probeEvery how often from then on.
const (
	probes     = 8
	probeEvery = 50 * time.Millisecond
)

// timepiece is the source's clock as it is known here, and who the source is.
type timepiece struct {
	*clock.Clock
	probe func(context.Context) (proxy.Identity, proxy.Time, error)
	close func() error
}

// openTimepiece opens a source without use cases, to read its clock.
func (g *gatherer) openTimepiece(ctx context.Context) (*timepiece, error) {
	t := &timepiece{Clock: clock.New(clock.Boottime)}
	if g.facts.postgres() {
		s, _, err := postgres.Open(ctx, g.reach.Postgres, nil)
		if err != nil {
			return nil, err
		}
		t.probe, t.close = s.Probe, s.Close
		return t, nil
	}
	s, _, err := sqlite.Open(ctx, sqlite.Options{Path: g.facts.Config.Source.SQLite.Path, Readers: 1}, nil)
	if err != nil {
		return nil, err
	}
	t.probe, t.close = s.Probe, s.Close
	return t, nil
}

// read reads the source's clock once.
func (t *timepiece) read(ctx context.Context) (proxy.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sent := t.Local()
	id, at, err := t.probe(ctx)
	if err == nil {
		t.Observe(sent, t.Local(), at)
	}
	return id, err
}

// keep reads the clock again and again until ctx ends: its interval widens
// otherwise.
func (t *timepiece) keep(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_, _ = t.read(ctx) // one that is missed costs some width
		}
	}
}

// clockAndTopics looks at the clock first: what is watched is timed by it.
func (g *gatherer) clockAndTopics(ctx context.Context) {
	f := g.facts
	t, err := g.openTimepiece(ctx)
	if err == nil {
		defer t.close()
		for range probes {
			if f.Clock.Source, err = t.read(ctx); err != nil {
				break
			}
		}
	}
	if err != nil {
		f.Clock.Err = err
		g.topics(ctx, nil)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { t.keep(ctx) })
	g.topics(ctx, t)
	lo, hi := t.Bounds()
	f.Clock.Known, f.Clock.Width = hi != proxy.Forever, hi.Sub(lo)
	f.Clock.Offset = lo.Add(hi.Sub(lo) / 2).Sub(proxy.Time(time.Now().UnixNano()))
	cancel()
	keeping.Wait()
}
