package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/load"
	"github.com/freshet-cache/freshet/proxy/source/clock"
)

// Deployment is what is tested.
type Deployment interface {
	load.Tier
	// Admin is where a node's counters are, empty while it is down, and which
	// of its lives they are of; 0: when its process began tells lives apart.
	Admin(node string) (address string, life uint64)
	// Clock makes one round trip to the source's clock.
	Clock(ctx context.Context) (history.Clock, error)
}

// Run is one run.
type Run struct {
	Deployment Deployment
	Load       *load.Load
	History    *history.Writer
	Head       history.Run
	Plan       fault.Plan
	Faults     []fault.Fault
	Enough     func(ctx context.Context) error // the run ends early when it returns; nil: it does not
	// Measure is done once, while nothing is wrong yet. nil: nothing is.
	Measure func(ctx context.Context) error
}

func now() history.Time { return history.Time(clock.Boottime()) }

// Main inserts the first rows, then lets everything go on for as long as the
// plan says. It returns when all has ended, and the nodes' counters stand
// still.
func (r *Run) Main(ctx context.Context) error {
	log := r.History.Log()
	r.Head.At = now()
	if err := errors.Join(log.Add(&r.Head), log.Flush()); err != nil {
		return err
	}
	s := &sampler{of: r.Deployment, log: r.History.Log(), useCases: r.Head.UseCases, live: r.Head.Live}
	if err := s.begin(ctx); err != nil {
		return err
	}
	if err := s.sample(ctx); err != nil {
		return err
	}
	if err := r.Load.Seed(ctx); err != nil {
		return err
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	if err := r.traffic(ctx, s); err != nil {
		return err
	}
	return s.last(ctx)
}

// traffic lets load and faults go on.
func (r *Run) traffic(ctx context.Context, s *sampler) error {
	g, ctx := errgroup.WithContext(ctx)
	going, stop := context.WithCancel(ctx)
	defer stop()
	g.Go(func() error { return r.Load.Write(going) })
	g.Go(func() error { return r.Load.Read(going) })
	g.Go(func() error { return s.run(going) })
	if r.Measure != nil {
		g.Go(func() error { return r.Measure(going) })
	}
	if r.Enough != nil {
		g.Go(func() error {
			defer stop()
			return r.Enough(going)
		})
	}
	g.Go(func() error {
		defer stop()
		return fault.Run(going, r.Plan, r.Faults, func() fault.Record { return r.History.Log() })
	})
	return g.Wait()
}

// Finish ends the history. Nothing may be able to write to the table any more.
func (r *Run) Finish(ctx context.Context) error {
	if err := r.Load.Settle(ctx); err != nil {
		return err
	}
	log := r.History.Log()
	last, err := r.Deployment.Clock(ctx)
	return errors.Join(err, log.Add(&last), log.Add(&history.End{At: now()}), log.Flush())
}

// File is a history that is being written to a file.
type File struct {
	*history.Writer
	file  *os.File
	ended chan error
}

// Create begins a history in a folder.
func Create(dir string) (*File, error) {
	file, err := os.Create(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("begin the history: %w", err)
	}
	f := &File{Writer: history.NewWriter(file), file: file, ended: make(chan error, 1)}
	go func() { f.ended <- f.Run() }()
	return f, nil
}

// Path is where it is.
func (f *File) Path() string { return f.file.Name() }

// Close writes what is left. If nothing could be written any more, it is what
// those were told who tried.
func (f *File) Close() error {
	f.Writer.Close()
	err, closed := <-f.ended, f.file.Close()
	if err != nil {
		return err
	}
	return closed
}
