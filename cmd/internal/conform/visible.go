package conform

import (
	"context"
	"errors"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/doctor"
	"github.com/freshet-cache/freshet/cmd/internal/doctor/pipeline"
)

// stallable is a deployment whose stream can be made to stand, and measured by
// whoever has a node's configuration.
type stallable interface {
	Nodes() []string
	Admin(node string) (address string, life uint64)
	Configuration() string
	Stalled() fault.Fault
}

// watch is how long the stream is measured.
const watch = 5 * time.Second

// visibility measures what bounds a deployment's stream can carry, as freshet
// doctor does.
func (o *Options) visibility(d stallable) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := config.Load(d.Configuration())
		if err != nil {
			return err
		}
		var nodes []string
		for _, n := range d.Nodes() {
			admin, _ := d.Admin(n)
			nodes = append(nodes, admin)
		}
		p, measured := doctor.Measured(doctor.Gather(ctx, c, doctor.Options{Watch: watch, Nodes: nodes}))
		switch {
		case ctx.Err() != nil:
			return nil // the run is over
		case !measured:
			return errors.New("the stream brought no checkpoints to measure it by; the relay's log says why")
		}
		o.carries = &pipeline.Pipeline{Interval: p.Interval, Delay: p.Delay, Width: p.Width}
		return nil
	}
}
