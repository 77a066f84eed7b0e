package part

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/client"
	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// Change changes the whole table, and writes that down.
type Change func(ctx context.Context, op table.Op) error

// Lasting makes a fault out of what goes on for as long as one lets it.
func Lasting(name, target string, least, most time.Duration, begin, end func(context.Context) error) fault.Fault {
	return fault.Fault{Name: name, Target: target, Parts: []string{target}, Least: least, Most: most, Begin: begin, End: end}
}

// Once makes a fault out of what is done at once and then left to itself for a
// while.
func Once(name, target string, after time.Duration, begin func(context.Context) error) fault.Fault {
	return Lasting(name, target, after, after, begin, nil)
}

// Order makes a function out of what a process is told.
func (p *Process) Order(name string, n int64) func(context.Context) error {
	return func(ctx context.Context) error { return p.tell(ctx, fmt.Sprintf("%s %d", name, n)) }
}

// while is a fault that one order begins and the same one ends.
func (p *Process) while(name string, least, most time.Duration, order string, n int64) fault.Fault {
	return Lasting(name, p.name, least, most, p.Order(order, n), p.Order(order, 0))
}

// Freeze holds it for d.
func (p *Process) Freeze(name string, d time.Duration) fault.Fault {
	return Lasting(name, p.name, d, d,
		func(context.Context) error { return p.Pause() },
		func(context.Context) error { return p.Resume() })
}

// Death kills it, and has it started again.
func (p *Process) Death(start func(context.Context) error) fault.Fault {
	return Lasting("kill", p.name, 100*time.Millisecond, time.Second,
		func(context.Context) error { return p.Kill() }, start)
}

func (p *Process) lateAcks() fault.Fault {
	return p.while("late acknowledgements", 2*time.Second, 3*time.Second, "acks", int64(300*time.Millisecond))
}

// OfNode are those of node i by itself.
func (t *Tier) OfNode(i int) []fault.Fault {
	n := t.Members[i]
	if i > 0 { // kills and delays of one node say as much as of two
		return []fault.Fault{
			n.Freeze("freeze for 3Δ", 3*Delta),
			t.Hole("black hole to the broker", n.name),
			n.while("slow source", time.Second, 2*time.Second, "slow", int64(300*time.Millisecond)),
			n.while("slower source", 2*time.Second, 3*time.Second, "slow", int64(Delta/2)),
			n.while("late answers of the source", time.Second, 2*time.Second, "late", int64(300*time.Millisecond)),
			n.lateAcks(),
		}
	}
	stepped := func(name string, by time.Duration) fault.Fault {
		f := Once(name, n.name, time.Second, n.Order("step", int64(by)))
		f.Clocks = true
		return f
	}
	return []fault.Fault{
		n.Death(n.Start),
		n.lateAcks(),
		n.Freeze("freeze", 2*time.Second),
		t.cut(n),
		n.while("stalled source", 2*time.Second, 3*time.Second, "slow", int64(5*time.Second)),
		n.while("refusing source", time.Second, 2*time.Second, "refuse", 1),
		stepped("clock steps ahead", Delta),
		stepped("clock steps back", -Delta),
		n.voids(),
	}
}

// OfRelay are those of the relay, and of what it appends.
func (t *Tier) OfRelay() []fault.Fault {
	r := t.Relay
	delayed := func(by time.Duration) fault.Fault {
		return r.while("stream delayed by "+by.String(), 2*time.Second, 3*time.Second, "delay", int64(by))
	}
	return []fault.Fault{
		r.Death(r.Start),
		r.Freeze("freeze", 2*time.Second),
		r.Freeze("freeze for 3Δ", 3*Delta),
		t.Hole("black hole to the broker", r.name),
		delayed(Delta / 10),
		delayed(Delta / 2),
		delayed(10 * Delta),
		r.while("stream doubled", time.Second, 2*time.Second, "twice", 1),
		Once("stream replayed", r.name, time.Second, r.Order("replay", 0)),
		r.while("checkpoints lost in one partition", 2*time.Second, 3*time.Second, "lose", 2),
		r.while("changes lost", time.Second, 2*time.Second, "holes", 1),
		r.while("checkpoints from the future", time.Second, 2*time.Second, "ahead", int64(Delta)),
	}
}

// Stalled is a stream that stands, for longer than any bound, because what
// ships it cannot reach the broker.
func (t *Tier) Stalled() fault.Fault {
	f := t.Hole("stream stalled", t.Shipper())
	f.Least, f.Most = 20*Delta, 20*Delta
	return f
}

// Hole holds the connections of one client to the broker, without a word.
func (t *Tier) Hole(name, client string) fault.Fault {
	return t.onWay(name, client, time.Second, 3*time.Second, (*stack.Forwarder).Hold)
}

// Late lets what one client and the broker say to each other take longer.
func (t *Tier) Late(name, client string, by time.Duration) fault.Fault {
	return t.onWay(name, client, 2*time.Second, 3*time.Second, func(w *stack.Forwarder) { w.Delay(by) })
}

func (t *Tier) cut(p *Process) fault.Fault {
	return t.onWay("cut from the broker", p.name, time.Second, 2*time.Second, (*stack.Forwarder).Cut)
}

// onWay disturbs the way of one client to the broker.
func (t *Tier) onWay(name, client string, least, most time.Duration, disturb func(*stack.Forwarder)) fault.Fault {
	return Lasting(name, client, least, most, t.with(client, disturb), t.Passing(client))
}

// Passing lets a client through to the broker again.
func (t *Tier) Passing(client string) func(context.Context) error {
	return t.with(client, (*stack.Forwarder).Pass)
}

func (t *Tier) with(client string, do func(*stack.Forwarder)) func(context.Context) error {
	return func(context.Context) error {
		w, err := t.Front.Way(client)
		if err == nil {
			do(w)
		}
		return err
	}
}

// voids makes all that is cached void, each 100 ms.
func (p *Process) voids() fault.Fault {
	var stop context.CancelFunc
	ended := make(chan error, 1)
	return Lasting("all void each 100 ms", p.name, time.Second, 2*time.Second,
		func(ctx context.Context) error {
			ctx, stop = context.WithCancel(ctx)
			address, _, _ := p.Where()
			c, err := client.Dial(ctx, address, patience)
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
		for _, u := range UseCases() {
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

// OfTable are those of the whole table, which are no faults of anybody's.
func OfTable(change Change) []fault.Fault {
	on := func(name string, op table.Op) fault.Fault {
		return Lasting(name, "table", 500*time.Millisecond, time.Second,
			func(ctx context.Context) error { return change(ctx, op) }, nil)
	}
	return []fault.Fault{
		on("truncate", table.Truncate),
		on("column made anew", table.Reshape),
		on("table made anew", table.Recreate),
	}
}
