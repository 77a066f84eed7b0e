package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/conform"
	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
	"github.com/freshet-cache/freshet/cmd/internal/conform/live"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
	"github.com/freshet-cache/freshet/cmd/internal/conform/report"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// partCommand is the command that makes a process be a part of an embedded
// deployment. It is not for people.
const partCommand = "conform-part"

// verdictError ends a command with a status of its own: what was found has
// been printed.
type verdictError struct{ status int }

func (e *verdictError) Error() string { return fmt.Sprintf("the verdict's status is %d", e.status) }

// conformCall is what the flags of conform say.
type conformCall struct {
	conform.Options
	embedded, stack         bool
	config                  string
	printUseCases, printSQL bool
	postgres                int
	faults, mutant          string
}

func conformance(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	// Who reads what is told may go away (| head). That is no reason to end in the
	// midst of somebody's database: writing fails then, and what was begun is ended.
	deaf := make(chan os.Signal, 1)
	signal.Notify(deaf, syscall.SIGPIPE)
	defer signal.Stop(deaf)
	c, err := conformCalled(args, stdout)
	if err != nil {
		return err
	}
	if c.printUseCases || c.printSQL {
		return c.print(stdout)
	}
	v, err := c.against(ctx, stdout, stderr)
	if v == nil {
		return err
	}
	// What has been found is told, also if something else went wrong.
	if err := errors.Join(report.Print(stdout, v), err); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\nwith pictures: %s\n", filepath.Join(c.Out, "report.html"))
	if s := v.Result.Status(); s != 0 {
		return &verdictError{s}
	}
	return nil
}

func conformCalled(args []string, stdout io.Writer) (*conformCall, error) {
	f := flags("conform", "--embedded | --stack | --config FILE [flags]", stdout)
	c := &conformCall{Options: conform.Options{Part: []string{partCommand}}}
	f.BoolVar(&c.embedded, "embedded", false, "against a deployment that this program starts: a SQLite file, a broker, a relay and nodes, each a process")
	f.BoolVar(&c.stack, "stack", false, "against one out of real parts, which it fetches and starts: PostgreSQL with a standby, Kafka, a relay and nodes")
	f.StringVar(&c.config, "config", "", "against one that is there already: the configuration of its nodes, whose section conform says where they are")
	f.BoolVar(&c.printUseCases, "print-use-cases", false, "with --config: print what relay and nodes have to be configured with, and end")
	f.BoolVar(&c.printSQL, "print-sql", false, "with --config: print what makes the table of these use cases, for the database's owner to run once, and end")
	f.IntVar(&c.postgres, "postgres", 15, "the version of PostgreSQL, 15 or 17, with --stack")
	f.BoolVar(&c.Debezium, "debezium", false, "Debezium on Kafka Connect ships the changes, with --stack, and no relay does")
	f.DurationVar(&c.Duration, "duration", 90*time.Second, "of the traffic, at least 5s; with faults it goes on until the last one is over for 14s, or 20s with --stack. Starting and judging come on top, and with --stack all faults take some four minutes, one by one")
	f.Uint64Var(&c.Seed, "seed", 0, "what everything is drawn from; 0: one that is drawn and told")
	f.StringVar(&c.Out, "out", "freshet-conform", "folder of the report, the history and the parts' logs")
	f.IntVar(&c.Nodes, "nodes", 2, "how many nodes are started, 1 to 8")
	f.BoolVar(&c.Tier, "tier", false, "the nodes are a tier, in which each key has an owner, and any node is asked")
	f.StringVar(&c.faults, "faults", "all", "all, none, or names with commas between them")
	f.BoolVar(&c.Visibility, "visibility", false, "instead of faults, tell how many writes are visible everywhere after Δ, with a stream that is well and one that stands, and which Δ it can carry")
	until := f.String("until", "", "end early once one of these checks is violated: their names, with commas between them")
	mutant := mutantFlag(f)
	if err := parse(f, args, 0); err != nil {
		return nil, err
	}
	if *until != "" {
		c.Until = named(*until)
	}
	c.mutant = *mutant
	return c, c.complete()
}

// complete checks what the flags say, and draws what they leave open.
func (c *conformCall) complete() error {
	kinds := 0
	for _, is := range []bool{c.embedded, c.stack, c.config != ""} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return &usageError{"conform: one of --embedded, --stack and --config FILE is required"}
	case (c.printUseCases || c.printSQL) && c.config == "":
		return &usageError{"conform: --print-use-cases and --print-sql are of --config FILE"}
	case c.Visibility && (c.config != "" || c.faults != "all"):
		return &usageError{"conform: --visibility makes a fault of its own, in nodes that conform starts"}
	case c.mutant != "" && c.config != "":
		return &usageError{"conform: --mutant is of nodes that conform starts itself"}
	case c.Tier && c.config != "":
		return &usageError{"conform: --tier is of nodes that conform starts itself"}
	case c.Debezium && !c.stack:
		return &usageError{"conform: --debezium is of --stack"}
	case c.postgres != 15 && c.postgres != 17:
		return &usageError{"conform: --postgres is 15 or 17"}
	case c.Nodes < 1 || c.Nodes > 8:
		return &usageError{"conform: --nodes is from 1 to 8"}
	case c.Duration < 5*time.Second:
		return &usageError{"conform: --duration is at least 5s"}
	}
	for _, name := range c.Until {
		if !check.Named(name) {
			return &usageError{fmt.Sprintf("conform: --until names checks, from C0 to C11, and %q is none", name)}
		}
	}
	for c.Seed == 0 {
		c.Seed = rand.Uint64N(1_000_000)
	}
	switch c.faults {
	case "none":
		c.NoFaults = true
	case "all":
	default:
		c.Options.Faults = named(c.faults)
	}
	if c.mutant != "" {
		c.Part = append(c.Part, "--mutant", c.mutant)
	}
	if c.stack {
		c.Postgres = stack.Version(c.postgres)
	}
	var err error
	c.Executable, err = os.Executable()
	return err
}

// named are the names of a list.
func named(list string) []string {
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// print prints what is to be done before a run against a deployment that is
// there already.
func (c *conformCall) print(stdout io.Writer) error {
	if c.printUseCases { // which the configuration may name already, and have yet to get
		if _, err := io.WriteString(stdout, live.UseCases()); err != nil {
			return err
		}
	}
	if !c.printSQL {
		return nil
	}
	deployed, err := config.LoadConform(c.config)
	if err != nil {
		return err
	}
	statements, err := live.Setup(deployed)
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, table.Script(statements))
	return err
}

// against runs against whatever the flags say.
func (c *conformCall) against(ctx context.Context, stdout, stderr io.Writer) (*check.Verdict, error) {
	nodes := fmt.Sprintf("--nodes %d", c.Nodes)
	if c.Tier {
		nodes += " --tier"
	}
	on := "--embedded " + nodes
	start := conform.Embedded
	switch {
	case c.stack:
		on = fmt.Sprintf("--stack --postgres %d %s", c.postgres, nodes)
		if c.Debezium {
			on += " --debezium"
		}
		start = conform.Stack
	case c.config != "":
		deployed, err := config.LoadConform(c.config)
		if err != nil {
			return nil, err
		}
		on = "--config " + c.config
		c.Log = logger(slog.LevelInfo, stderr)
		start = func(ctx context.Context, o conform.Options) (*check.Verdict, error) {
			return conform.Live(ctx, o, deployed)
		}
	}
	c.Command = fmt.Sprintf("freshet conform %s --seed %d --duration %v", on, c.Seed, c.Duration)
	if c.Visibility {
		c.Command += " --visibility"
	} else {
		c.Command += fmt.Sprintf(" --faults %q", c.faults)
	}
	if _, err := fmt.Fprintf(stdout, "%s\n", c.Command); err != nil {
		return nil, err
	}
	return start(ctx, c.Options)
}

// conformPart is one process of an embedded deployment.
func conformPart(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flags(partCommand, "", stdout)
	var p part.Part
	f.StringVar(&p.Kind, "kind", "", "broker, relay or node")
	f.StringVar(&p.Config, "config", "", "its configuration")
	f.StringVar(&p.Front, "front", "", "where a broker's clients come to")
	f.StringVar(&p.Fills, "fills", "", "file of a node's fills")
	f.StringVar(&p.Node, "node", "", "its name")
	f.Uint64Var(&p.Life, "life", 0, "how often it was started")
	mutant := mutantFlag(f)
	if err := parse(f, args, 0); err != nil {
		return err
	}
	if err := mutate(*mutant); err != nil {
		return err
	}
	return part.Run(ctx, p, os.Stdin, stdout, logger(slog.LevelInfo, stderr))
}
