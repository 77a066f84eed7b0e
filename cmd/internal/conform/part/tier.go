package part

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/freshet-cache/freshet/cmd/internal/conform/load"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// Options say what is deployed.
type Options struct {
	Executable string   // this program
	Args       []string // what makes it be a part: those of the part follow
	Dir        string   // where it may keep what it needs while it runs; it exists
	Out        string   // where histories of fills and logs go; it exists
	Nodes      int
	Tier       bool   // the nodes are a tier
	Relay      string // more settings of the relay, in the words of a configuration
	Stream     string // and of the stream
	Shipper    string // what the broker knows the one by that ships changes, if that is not a relay of ours
}

// Tier is what every deployment has: nodes and mostly a relay, in front of
// whose broker a front stands. What they say of themselves may be asked by all.
type Tier struct {
	Front   *Front
	Relay   *Process   // nil: others ship the changes
	Members []*Process // the nodes

	opts  Options
	ways  map[string]*stack.Forwarder // in a tier: to each node, for the others
	ahead atomic.Int64                // nanoseconds, of the source's clock before this host's
}

// NewTier prepares the processes. source gives the source of the one of that
// name, in the words of a configuration.
func NewTier(o Options, source func(name string) (string, error)) (t *Tier, err error) {
	t = &Tier{opts: o, ways: map[string]*stack.Forwarder{}}
	if t.Front, err = NewFront(); err != nil {
		return nil, err
	}
	if err := t.prepare(source); err != nil {
		return nil, errors.Join(err, t.End())
	}
	return t, nil
}

func (t *Tier) prepare(source func(name string) (string, error)) error {
	if t.opts.Shipper == "" {
		own, err := source(ofRelay)
		if err != nil {
			return err
		}
		if t.Relay, err = t.Part(ofRelay, ofRelay, own); err != nil {
			return err
		}
	}
	var members []string
	for i := range t.opts.Nodes {
		members = append(members, "node-"+strconv.Itoa(i))
	}
	if err := t.join(members); err != nil {
		return err
	}
	for _, name := range members {
		own, err := source(name)
		if err != nil {
			return err
		}
		n, err := t.Part("node", name, own)
		if err != nil {
			return err
		}
		n.way = t.ways[name]
		t.Members = append(t.Members, n)
	}
	return nil
}

// join makes the ways by which nodes of a tier reach each other: their
// addresses stand before any node has a port.
func (t *Tier) join(members []string) error {
	if !t.opts.Tier {
		return nil
	}
	for _, name := range members {
		way, err := stack.NewForwarder()
		if err != nil {
			return err
		}
		t.ways[name] = way
	}
	return nil
}

// Part prepares a process, with a configuration of its own.
func (t *Tier) Part(kind, name, source string) (*Process, error) {
	config := t.configuration(name)
	args := func(life uint64) []string {
		return append(slices.Clone(t.opts.Args), "--kind", kind, "--config", config, "--front", t.Front.Address(),
			"--fills", t.fills(name, life), "--node", name, "--life", strconv.FormatUint(life, 10))
	}
	p := NewProcess(name, t.opts.Executable, filepath.Join(t.opts.Out, name+".log"), args)
	return p, os.WriteFile(config, settings(source, t.Front.Address(), name, &t.opts, t.ways), 0o600)
}

func (t *Tier) configuration(name string) string { return filepath.Join(t.opts.Dir, name+".yaml") }

// ofRelay is the name and the kind of the relay.
const ofRelay = "relay"

// Shipper is what the broker knows the one by that ships the changes.
func (t *Tier) Shipper() string { return cmp.Or(t.opts.Shipper, ofRelay) }

// Configuration is the file of one node's.
func (t *Tier) Configuration() string { return t.configuration(t.Members[0].name) }

func (t *Tier) fills(node string, life uint64) string {
	return filepath.Join(t.opts.Out, fmt.Sprintf("fills-%s-%d.jsonl", node, life))
}

// Start starts the relay and the nodes.
func (t *Tier) Start(ctx context.Context) error {
	for _, p := range append([]*Process{t.Relay}, t.Members...) {
		if p == nil {
			continue
		}
		if err := p.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// End ends all of them, the nodes first: then nobody writes any more.
func (t *Tier) End() error {
	var errs []error
	for _, p := range append(slices.Clone(t.Members), t.Relay) {
		if p != nil {
			errs = append(errs, p.End())
		}
	}
	t.Front.Close()
	for _, way := range t.ways {
		way.Close()
	}
	return errors.Join(errs...)
}

// UseCases are those over the table.
func (t *Tier) UseCases() []load.UseCase { return UseCases() }

// Nodes names the nodes.
func (t *Tier) Nodes() []string {
	var out []string
	for _, n := range t.Members {
		out = append(out, n.name)
	}
	return out
}

func (t *Tier) named(name string) *Process {
	for _, n := range t.Members {
		if n.name == name {
			return n
		}
	}
	return nil
}

// Address is where a node serves; empty while it is down.
func (t *Tier) Address(node string) string {
	address, _, _ := t.named(node).Where()
	return address
}

// Admin is where a node's counters are, and which of its lives they are of.
func (t *Tier) Admin(node string) (address string, life uint64) {
	_, admin, life := t.named(node).Where()
	return admin, life
}

// Histories are the files that the nodes have written.
func (t *Tier) Histories() []string {
	var out []string
	for _, n := range t.Members {
		_, _, lives := n.Where()
		for life := uint64(1); life <= lives; life++ {
			out = append(out, t.fills(n.name, life))
		}
	}
	return out
}
