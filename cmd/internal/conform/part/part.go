package part

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
)

// Part is what one process is to be.
type Part struct {
	Kind   string // broker, relay or node
	Config string // its configuration
	Front  string // broker: the address that its clients come to
	Fills  string // node: the file of its fills
	Node   string // node: its name
	Life   uint64 // node: how often it was started
}

// Run is the whole life of a process: it serves until its input ends or ctx
// does.
func Run(ctx context.Context, p Part, in io.Reader, out io.Writer, log *slog.Logger) error {
	c, err := config.Load(p.Config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	obey := func(orders map[string]order) {
		defer cancel()
		listen(ctx, orders, in, out)
	}
	switch p.Kind {
	case "broker":
		return p.broker(ctx, c, out, obey)
	case "relay":
		return p.relay(ctx, c, out, log, obey)
	case "node":
		return p.node(ctx, c, out, log, obey)
	}
	return fmt.Errorf("there is no part %q", p.Kind)
}

// order is something that a process can be told to do, with a number.
type order func(ctx context.Context, n int64) error

// listen carries out orders until there are no more.
func listen(ctx context.Context, orders map[string]order, in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer := "done"
		if err := carryOut(ctx, orders, lines.Text()); err != nil {
			answer = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return
		}
	}
}

func carryOut(ctx context.Context, orders map[string]order, line string) error {
	name, rest, _ := strings.Cut(line, " ")
	do := orders[name]
	n, err := strconv.ParseInt(rest, 10, 64)
	if do == nil || err != nil {
		return fmt.Errorf("%q is no order", line)
	}
	return do(ctx, n)
}

func (p *Part) broker(ctx context.Context, c *config.Config, out io.Writer, obey func(map[string]order)) error {
	topic := c.Stream.Kafka.Topic
	b, err := node.OpenBrokerBehind(p.Front, "127.0.0.1:0", filepath.Join(filepath.Dir(p.Config), "kafka"), topic, c.Relay.Partitions)
	if err != nil {
		return err
	}
	defer b.Close()
	fmt.Fprintf(out, "serves %s -\n", b.Address())
	obey(map[string]order{
		"recreate": func(_ context.Context, n int64) error { return b.Recreate(topic, int(n)) },
		"forget":   func(context.Context, int64) error { return b.Forget(topic) },
		"widen":    func(ctx context.Context, n int64) error { return b.Widen(ctx, topic, int(n)) },
	})
	return nil
}

func (p *Part) relay(ctx context.Context, c *config.Config, out io.Writer, log *slog.Logger, obey func(map[string]order)) error {
	bad := &badTopic{}
	r, err := node.Seams{Topic: bad.over}.OpenRelay(ctx, c, log)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "serves %s -\n", r.Admin())
	go obey(bad.orders())
	return r.Run(ctx)
}

func (p *Part) node(ctx context.Context, c *config.Config, out io.Writer, log *slog.Logger, obey func(map[string]order)) (err error) {
	fills, err := openFills(p.Fills, p.Node, p.Life)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fills.close()) }()
	clock := &badClock{}
	source := &badSource{fills: fills}
	n, err := node.Seams{Local: clock.local, Source: source.over, Probe: source.probing}.Open(ctx, c, log)
	if err != nil {
		return err
	}
	if err := node.LimitMemory(int64(c.Memory.Budget), log); err != nil {
		return err
	}
	fmt.Fprintf(out, "serves %s %s %s\n", n.Address(), n.Admin(), n.Peers())
	go obey(map[string]order{
		"slow":   func(_ context.Context, n int64) error { source.slow.Store(n); return nil },
		"late":   func(_ context.Context, n int64) error { source.late.Store(n); return nil },
		"acks":   func(_ context.Context, n int64) error { source.acks.Store(n); return nil },
		"refuse": func(_ context.Context, n int64) error { source.refuses.Store(n != 0); return nil },
		"step":   func(_ context.Context, n int64) error { clock.off.Add(n); return nil },
		"slept":  func(_ context.Context, n int64) error { clock.suspended(time.Duration(n)); return nil },
		"beyond": func(_ context.Context, n int64) error { source.beyond.Store(uint64(n)); return nil },
		"clock":  func(_ context.Context, n int64) error { source.clock.Store(n); return nil },
	})
	return n.Run(ctx)
}
