package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
)

func serve(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, check, err := configured("serve", args, stdout)
	if err != nil {
		return err
	}
	if check {
		return checked(node.Check(ctx, c), stdout)
	}
	log := logger(level(c), stderr)
	if err := node.LimitMemory(int64(c.Memory.Budget), log); err != nil {
		return err
	}
	n, err := node.Open(ctx, c, log)
	if err != nil {
		return err
	}
	return n.Run(ctx)
}

func relay(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, check, err := configured("relay", args, stdout)
	if err != nil {
		return err
	}
	if check {
		return checked(node.CheckRelay(ctx, c), stdout)
	}
	r, err := node.OpenRelay(ctx, c, logger(level(c), stderr))
	if err != nil {
		return err
	}
	node.KeepToContainer()
	return r.Run(ctx)
}

func checked(err error, stdout io.Writer) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, "the configuration is good, and the source has all that it names")
	return err
}

// configured parses the flags that serve and relay share, and reads the file.
func configured(name string, args []string, stdout io.Writer) (c *config.Config, check bool, err error) {
	f := flags(name, "--config FILE [--check]", stdout)
	file := f.String("config", "", "the configuration; \"freshet --print-defaults\" shows all settings")
	f.BoolVar(&check, "check", false, "check the configuration, and end")
	if err := parse(f, args, 0); err != nil {
		return nil, false, err
	}
	if *file == "" {
		return nil, false, &usageError{name + ": --config FILE is required"}
	}
	c, err = config.Load(*file)
	return c, check, err
}

// level is the least that the configuration has logged.
func level(c *config.Config) (l slog.Level) {
	_ = l.UnmarshalText([]byte(c.Node.LogLevel)) // Validate lets only known names through
	return l
}

func logger(level slog.Level, stderr io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
}
