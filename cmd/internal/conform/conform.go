package conform

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
	"github.com/freshet-cache/freshet/cmd/internal/conform/embedded"
	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/load"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
	"github.com/freshet-cache/freshet/cmd/internal/conform/report"
	"github.com/freshet-cache/freshet/cmd/internal/conform/run"
	"github.com/freshet-cache/freshet/cmd/internal/conform/stacked"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/doctor/pipeline"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// Options are those of a run.
type Options struct {
	Command  string // how it was called, for the report
	Seed     uint64
	Duration time.Duration // of the traffic
	Out      string        // folder of the history, the report and the parts' logs
	Nodes    int
	Tier     bool     // the nodes are a tier: each key has an owner among them
	Faults   []string // names; none: all
	NoFaults bool
	Until    []string // checks: the run ends early once one of them is violated; none: it never does
	// Visibility: the faults are one, a stream that stands, and the stream is
	// measured before.
	Visibility bool

	Postgres stack.Version // of a run against real parts; else 0
	Debezium bool          // ships their changes

	Executable string   // this program
	Part       []string // what makes it be a part of the deployment

	Log  *slog.Logger    // of a run against a deployment that was there before
	live *config.Conform // nil: it is no such run

	carries *pipeline.Pipeline // what was measured; nil: nothing was
}

// deployment is what is started, disturbed and ended.
type deployment interface {
	run.Deployment
	Database() table.Database
	UseCases() []load.UseCase
	Faults(part.Change) []fault.Fault
	// Histories are the files that its own processes have written.
	Histories() []string
	// End ends whatever may write to the table, and Close the rest.
	End() error
	Close() error
}

// Embedded is a run against a deployment out of this program alone.
func Embedded(ctx context.Context, o Options) (*check.Verdict, error) {
	return o.run(ctx, func(p part.Options) (deployment, error) { return embedded.Open(ctx, p) })
}

// Stack is a run against real parts, which it starts.
func Stack(ctx context.Context, o Options) (*check.Verdict, error) {
	return o.run(ctx, func(p part.Options) (deployment, error) {
		return stacked.Open(ctx, stacked.Options{Options: p, Postgres: o.Postgres, Debezium: o.Debezium})
	})
}

// run starts a deployment, runs against it, ends it, and judges what was
// written down.
func (o *Options) run(ctx context.Context, open func(part.Options) (deployment, error)) (v *check.Verdict, err error) {
	f, err := openFolder(o.Out)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	d, err := open(part.Options{Executable: o.Executable, Args: o.Part, Dir: f.parts, Out: o.Out, Nodes: o.Nodes, Tier: o.Tier})
	if err != nil {
		return nil, err
	}
	path, err := o.record(ctx, d)
	closed := d.Close()
	if err != nil {
		return nil, errors.Join(err, closed)
	}
	if v, err = check.Files(ctx, f.scratch, append(d.Histories(), path)...); err != nil {
		if ctx.Err() != nil {
			err = errInterrupted
		}
		return nil, errors.Join(err, closed)
	}
	v.Pipeline = o.carries
	return v, errors.Join(report.Write(o.Out, v), closed)
}

// record writes down a run, and returns where.
func (o *Options) record(ctx context.Context, d deployment) (path string, err error) {
	file, err := run.Create(o.Out)
	if err != nil {
		return "", err
	}
	err = o.traffic(ctx, d, file)
	if closed := file.Close(); !errors.Is(err, closed) { // who wrote has been told of it
		err = errors.Join(err, closed)
	}
	return file.Path(), err
}

// errInterrupted is the end of a run that was told to end.
var errInterrupted = errors.New("the run was interrupted, so there is no verdict; what it wrote down so far is left")

// traffic is the run itself. Before the last writes are looked up the
// nodes have ended, so that none can be under way.
func (o *Options) traffic(ctx context.Context, d deployment, file *run.File) error {
	much := load.Options{
		Seed: o.Seed, Keys: 2000, Patience: 10 * time.Second,
		Writers: 4, WritePause: 40 * time.Millisecond,
		Readers: 4, Sessions: 2, ReadPause: 6 * time.Millisecond,
	}
	switch {
	case o.live != nil:
		asConfigured(&much, o.live)
	case o.Debezium: // a connector and its Java machine want a core, and bring no images to replace entries with
		much.WritePause, much.ReadPause = 2*much.WritePause, 2*much.ReadPause
	}
	l := load.New(d.Database(), d, d.UseCases(), file.Writer, much)
	faults, err := o.faults(d.Faults(changing(l)))
	if err != nil {
		return errors.Join(err, d.End())
	}
	r := &run.Run{
		Deployment: d, Load: l, History: file.Writer, Faults: faults,
		Head: history.Run{Format: history.Format, Command: o.Command, Seed: o.Seed, Started: time.Now(), Nodes: d.Nodes(), Live: o.live != nil},
		Plan: o.plan(),
	}
	if s, ok := d.(stallable); ok && o.Visibility {
		r.Faults, r.Measure = []fault.Fault{s.Stalled()}, o.visibility(s)
	}
	for i := range r.Faults {
		r.Head.Faults = append(r.Head.Faults, r.Faults[i].String())
	}
	for _, u := range d.UseCases() {
		r.Head.UseCases = append(r.Head.UseCases, u.UseCase)
	}
	if len(o.Until) > 0 {
		r.Enough = func(ctx context.Context) error { return o.until(ctx, o.Out, file.Path()) }
	}
	err = r.Main(ctx)
	if ctx.Err() != nil {
		err = errInterrupted
	}
	if err = errors.Join(err, d.End()); err != nil {
		return err
	}
	return r.Finish(ctx)
}

// plan is when faults come. Nothing is disturbed at the begin, and at the end,
// for as long as shows: there ten seconds are given to recover, and a run that
// is short, or whose last fault takes long to end, lasts longer for that. Who
// waits for a violation need not wait for that, and has faults begin while nodes
// hold little yet: some harm comes only to what they do not hold. Real parts take
// longer to be there again.
func (o *Options) plan() fault.Plan {
	p := fault.Plan{Seed: o.Seed, Total: o.Duration, Calm: 50 * time.Millisecond, Rest: 400 * time.Millisecond, Rows: 2}
	if len(o.Until) > 0 {
		return p
	}
	p.After = 14 * time.Second
	if o.Postgres != 0 {
		p.After = 20 * time.Second
	}
	p.Calm = min(o.Duration/4, p.After)
	return p
}

// changing changes the whole table, and fills it again where that has emptied
// it.
func changing(l *load.Load) part.Change {
	return func(ctx context.Context, op table.Op) error {
		if err := l.Change(ctx, op); err != nil || op == table.Reshape {
			return err
		}
		return l.Seed(ctx)
	}
}
