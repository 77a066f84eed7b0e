package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// endings are the signals that end a process in order. A terminal that goes away
// is one, as who is at work on somebody's database has to leave it as it was;
// but not for who was started to outlive it (nohup).
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// command is one thing that freshet does.
type command struct {
	name string
	args string // as the help shows them
	doc  string
	run  func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

func commands() []command {
	return []command{
		{"dev", "[--listen ADDR] [--dir DIR] …", "run everything in one process, on a sample database", dev},
		{"dev sql", "[--dir DIR] STATEMENT", "run a statement on the database of a running freshet dev", devSQL},
		{"serve", "--config FILE [--check]", "run a node", serve},
		{"relay", "--config FILE [--check]", "ship the database's changes to Kafka", relay},
		{"conform", "--embedded | --stack | …", "prove the bound: writers, readers and faults, and a verdict", conformance},
		{"healthcheck", "[--admin ADDR]", "ask whether a node or relay of this machine is ready", healthcheck},
		{"ctl ring", "[--explain KEY] …", "show a tier as one of its nodes sees it", ctlRing},
		{"doctor", "--config FILE [--debezium] …", "check what a deployment's promise rests on, and how to mend it", examine},
		{"hash-password", "< FILE", "print the hash of the password that the input's first line is", hashPassword},
		{"version", "", "print the version", version},
	}
}

// usageError says that freshet was called wrongly.
type usageError struct{ reason string }

func (e *usageError) Error() string { return e.reason }

// run carries out a command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	var usage *usageError
	var verdict *verdictError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &verdict):
		return verdict.status
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "freshet: %s\nRun \"freshet help\" to see how it is called.\n", usage.reason)
		return 2
	}
	fmt.Fprintf(stderr, "freshet: %v\n", err)
	return 1
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		help(stderr)
		return &usageError{"no command given"}
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		help(stdout)
		return nil
	case "-print-defaults", "--print-defaults":
		return printDefaults(stdout)
	case "-version", "--version":
		args[0] = "version"
	}
	name, rest := args[0], args[1:]
	if two := strings.Join(args[:min(2, len(args))], " "); two == "dev sql" || two == "ctl ring" {
		name, rest = two, args[2:]
	}
	if name == partCommand {
		return conformPart(ctx, rest, stdout, stderr)
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(ctx, rest, stdout, stderr)
		}
	}
	reason := fmt.Sprintf("there is no command %q", name)
	for _, c := range commands() {
		if strings.HasPrefix(c.name, name+" ") {
			reason += fmt.Sprintf(", but %q", c.name)
		}
	}
	return &usageError{reason}
}

func help(w io.Writer) {
	fmt.Fprint(w, "freshet is a cache in front of a database's tables, fresh within a stated bound.\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  freshet %-38s %s\n", c.name+" "+c.args, c.doc)
	}
	fmt.Fprintf(w, "  freshet %-38s %s\n\n", "--print-defaults", "print every setting, with its default")
	fmt.Fprint(w, "\"freshet COMMAND --help\" shows the flags of a command.\n")
}

// flags returns a flag set whose help is printed to stdout.
func flags(name, synopsis string, stdout io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {
		fmt.Fprintf(stdout, "freshet %s %s\n\n", name, synopsis)
		f.SetOutput(stdout)
		f.PrintDefaults()
		f.SetOutput(io.Discard)
	}
	return f
}

// parse parses args and makes what is wrong with them a usage error.
func parse(f *flag.FlagSet, args []string, positional int) error {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return &usageError{f.Name() + ": " + err.Error()}
	}
	switch {
	case f.NArg() > positional:
		return &usageError{fmt.Sprintf("%s: there is no place for %q", f.Name(), f.Arg(positional))}
	case f.NArg() < positional:
		return &usageError{f.Name() + ": an argument is missing"}
	}
	return nil
}
