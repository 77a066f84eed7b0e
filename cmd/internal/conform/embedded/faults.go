package embedded

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/client"
	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
)

// Change changes the whole table, and writes that down.
type Change func(ctx context.Context, op table.Op) error

// Faults are all that can be done to this deployment.
func (d *Deployment) Faults(change Change) []fault.Fault {
	faults := append(d.ofProcesses(), d.ofStream()...)
	faults = append(faults, ofTable(change)...)
	for i, n := range d.nodes {
		faults = append(faults, d.ofNode(i, n)...)
	}
	return faults
}

// long makes a fault out of what lasts as long as one lets it.
func long(name, target string, least, most time.Duration, begin, end func(context.Context) error) fault.Fault {
	return fault.Fault{Name: name, Target: target, Parts: []string{target}, Least: least, Most: most, Begin: begin, End: end}
}

// order makes a function out of what a process is told.
func (p *process) order(name string, n int64) func(context.Context) error {
	return func(ctx context.Context) error { return p.tell(ctx, fmt.Sprintf("%s %d", name, n)) }
}

func (p *process) freeze(name string, d time.Duration) fault.Fault {
	return long(name, p.name, d, d,
		func(context.Context) error { return p.pause() },
		func(context.Context) error { return p.resume() })
}

func (p *process) death(start func(context.Context) error) fault.Fault {
	return long("kill", p.name, 100*time.Millisecond, time.Second,
		func(context.Context) error { return p.kill() }, start)
}

func (p *process) lateAcks() fault.Fault {
	return long("late acknowledgements", p.name, 2*time.Second, 3*time.Second, p.order("acks", int64(300*time.Millisecond)), p.order("acks", 0))
}

// ofProcesses are those that signals make.
func (d *Deployment) ofProcesses() []fault.Fault {
	return []fault.Fault{
		d.relay.death(d.relay.start),
		d.broker.death(d.startBroker),
		d.relay.freeze("freeze", 2*time.Second),
		d.broker.freeze("freeze", 2*time.Second),
	}
}

// ofNode are those of one node.
func (d *Deployment) ofNode(i int, n *process) []fault.Fault {
	if i > 0 { // kills and delays of one node say as much as of two
		return []fault.Fault{
			n.freeze("freeze for 3Δ", 3*delta),
			d.hole("black hole to the broker", n.name),
			long("slow source", n.name, time.Second, 2*time.Second, n.order("slow", int64(300*time.Millisecond)), n.order("slow", 0)),
			long("late answers of the source", n.name, time.Second, 2*time.Second, n.order("late", int64(300*time.Millisecond)), n.order("late", 0)),
			n.lateAcks(),
			d.forgotten(n),
			d.farAway(n),
		}
	}
	stepped := func(name string, by time.Duration) fault.Fault {
		f := long(name, n.name, time.Second, time.Second, n.order("step", int64(by)), nil)
		f.Clocks = true
		return f
	}
	return []fault.Fault{
		n.death(n.start),
		n.lateAcks(),
		n.freeze("freeze", 2*time.Second),
		d.cut(n.name),
		long("stalled source", n.name, 2*time.Second, 3*time.Second, n.order("slow", int64(5*time.Second)), n.order("slow", 0)),
		long("refusing source", n.name, time.Second, 2*time.Second, n.order("refuse", 1), n.order("refuse", 0)),
		stepped("clock steps ahead", delta),
		stepped("clock steps back", -delta),
		d.voids(n),
	}
}

// hole holds a client's connections to the broker, without a word.
func (d *Deployment) hole(name, target string) fault.Fault {
	return long(name, target, time.Second, 3*time.Second,
		func(context.Context) error {
			w, err := d.front.way(target)
			if err == nil {
				w.Hold()
			}
			return err
		}, d.passing(target))
}

func (d *Deployment) cut(target string) fault.Fault {
	return long("cut from the broker", target, time.Second, 2*time.Second,
		func(context.Context) error {
			w, err := d.front.way(target)
			if err == nil {
				w.Cut()
			}
			return err
		}, d.passing(target))
}

func (d *Deployment) passing(target string) func(context.Context) error {
	return func(context.Context) error {
		w, err := d.front.way(target)
		if err == nil {
			w.Pass()
		}
		return err
	}
}

// forgotten cuts the log under a node that is frozen.
func (d *Deployment) forgotten(n *process) fault.Fault {
	f := long("log cut under a frozen node", n.name, 500*time.Millisecond, time.Second,
		func(ctx context.Context) error {
			if err := n.pause(); err != nil {
				return err
			}
			return d.broker.order("forget", 0)(ctx)
		}, func(context.Context) error { return n.resume() })
	f.Parts = append(f.Parts, d.broker.name)
	return f
}

// farAway cuts the log under a node that is frozen, and whose broker is far
// away when it looks for its place again.
func (d *Deployment) farAway(n *process) fault.Fault {
	f := d.forgotten(n)
	f.Name += " far from its broker"
	f.Least, f.Most = 4*time.Second, 4*time.Second
	cut, woken, pass := f.Begin, f.End, d.passing(n.name)
	f.Begin = func(ctx context.Context) error {
		if err := cut(ctx); err != nil {
			return err
		}
		w, err := d.front.way(n.name)
		if err != nil {
			return err
		}
		w.Delay(delta / 4)
		pause(ctx, delta/2)
		return woken(ctx)
	}
	f.End = pass
	return f
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// voids makes all that is cached void, each 100 ms.
func (d *Deployment) voids(n *process) fault.Fault {
	var stop context.CancelFunc
	ended := make(chan error, 1)
	return long("all void each 100 ms", n.name, time.Second, 2*time.Second,
		func(ctx context.Context) error {
			ctx, stop = context.WithCancel(ctx)
			c, err := client.Dial(ctx, d.Address(n.name), patience)
			if err != nil {
				return err
			}
			go func() { ended <- voidAll(ctx, c) }()
			return nil
		}, func(context.Context) error {
			stop()
			return <-ended
		})
}

func voidAll(ctx context.Context, c *client.Client) error {
	defer c.Close()
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for {
		for _, u := range useCases() {
			if _, err := c.Do("FRESHET.INVALIDATE", "USECASE", u.Name); err != nil {
				return err
			}
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// ofStream are those of what goes from the relay to the nodes.
func (d *Deployment) ofStream() []fault.Fault {
	count := partitions
	delayed := func(by time.Duration) fault.Fault {
		return long("stream delayed by "+by.String(), d.relay.name, 2*time.Second, 3*time.Second, d.relay.order("delay", int64(by)), d.relay.order("delay", 0))
	}
	once := func(name string, p *process, after time.Duration, begin func(context.Context) error) fault.Fault {
		return long(name, p.name, after, after, begin, nil)
	}
	return []fault.Fault{
		d.hole("black hole to the broker", d.relay.name),
		delayed(delta / 2),
		delayed(10 * delta),
		long("stream doubled", d.relay.name, time.Second, 2*time.Second, d.relay.order("twice", 1), d.relay.order("twice", 0)),
		once("stream replayed", d.relay, time.Second, d.relay.order("replay", 0)),
		long("checkpoints lost in one partition", d.relay.name, 2*time.Second, 3*time.Second, d.relay.order("lose", 2), d.relay.order("lose", 0)),
		long("changes lost", d.relay.name, time.Second, 2*time.Second, d.relay.order("holes", 1), d.relay.order("holes", 0)),
		long("checkpoints from the future", d.relay.name, time.Second, 2*time.Second, d.relay.order("ahead", int64(delta)), d.relay.order("ahead", 0)),
		once("partition added", d.broker, 2*time.Second, func(ctx context.Context) error {
			count++
			return d.broker.order("widen", int64(count))(ctx)
		}),
		once("topic made anew", d.broker, 2*time.Second, func(ctx context.Context) error {
			return d.broker.order("recreate", int64(count))(ctx)
		}),
	}
}

// ofTable are those of the whole table, which are no faults of anybody's.
func ofTable(change Change) []fault.Fault {
	on := func(name string, op table.Op) fault.Fault {
		return long(name, "table", 500*time.Millisecond, time.Second,
			func(ctx context.Context) error { return change(ctx, op) }, nil)
	}
	return []fault.Fault{
		on("truncate", table.Truncate),
		on("column made anew", table.Reshape),
		on("table made anew", table.Recreate),
	}
}
