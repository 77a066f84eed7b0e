package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
	"github.com/freshet-cache/freshet/cmd/internal/conform/report"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// partCommand is the command that makes a process be a part of an embedded
// deployment. It is not for people.
const partCommand = "conform-part"

// verdictError ends a command with a status of its own: what was found has
// been printed.
type verdictError struct{ status int }

func (e *verdictError) Error() string { return fmt.Sprintf("the verdict's status is %d", e.status) }

func conformance(ctx context.Context, args []string, stdout, _ io.Writer) error {
	f := flags("conform", "--embedded | --stack [flags]", stdout)
	o := conform.Options{Part: []string{partCommand}}
	own := f.Bool("embedded", false, "against a deployment that this program starts: a SQLite file, a broker, a relay and nodes, each a process")
	stacked := f.Bool("stack", false, "against one out of real parts, which it fetches and starts: PostgreSQL with a standby, Kafka, a relay and nodes")
	postgres := f.Int("postgres", 15, "the version of PostgreSQL, 15 or 17, with --stack")
	f.DurationVar(&o.Duration, "duration", 90*time.Second, "of the traffic, at least 5s; starting and judging come on top, and with --stack all faults take some three minutes, one by one")
	f.Uint64Var(&o.Seed, "seed", 0, "what everything is drawn from; 0: one that is drawn and told")
	f.StringVar(&o.Out, "out", "freshet-conform", "folder of the report, the history and the parts' logs")
	f.IntVar(&o.Nodes, "nodes", 2, "how many nodes, 1 to 8")
	faults := f.String("faults", "all", "all, none, or names with commas between them")
	mutant := mutantFlag(f)
	if err := parse(f, args, 0); err != nil {
		return err
	}
	if *mutant != "" {
		o.Part = append(o.Part, "--mutant", *mutant)
	}
	switch {
	case *own == *stacked:
		return &usageError{"conform: one of --embedded and --stack is required"}
	case *postgres != 15 && *postgres != 17:
		return &usageError{"conform: --postgres is 15 or 17"}
	case o.Nodes < 1 || o.Nodes > 8:
		return &usageError{"conform: --nodes is from 1 to 8"}
	case o.Duration < 5*time.Second:
		return &usageError{"conform: --duration is at least 5s"}
	}
	for o.Seed == 0 {
		o.Seed = rand.Uint64N(1_000_000)
	}
	switch *faults {
	case "none":
		o.NoFaults = true
	case "all":
	default:
		o.Faults = strings.Split(*faults, ",")
	}
	var err error
	if o.Executable, err = os.Executable(); err != nil {
		return err
	}
	against, where := conform.Embedded, "--embedded"
	if *stacked {
		o.Postgres = stack.Version(*postgres)
		against, where = conform.Stack, fmt.Sprintf("--stack --postgres %d", *postgres)
	}
	o.Command = fmt.Sprintf("freshet conform %s --seed %d --duration %v --nodes %d --faults %q", where, o.Seed, o.Duration, o.Nodes, *faults)
	fmt.Fprintf(stdout, "%s\n", o.Command)
	v, err := against(ctx, o)
	if err != nil {
		return err
	}
	if err := report.Print(stdout, v); err != nil {
		return err
	}
	if s := v.Result.Status(); s != 0 {
		return &verdictError{s}
	}
	return nil
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
