package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
)

func version(_ context.Context, args []string, stdout, _ io.Writer) error {
	if err := parse(flags("version", "", stdout), args, 0); err != nil {
		return err
	}
	revision, modified := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = ", modified"
			}
		}
	}
	_, err := fmt.Fprintf(stdout, "freshet %s (revision %s%s, %s %s/%s)\n",
		node.Version(), revision, modified, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

func printDefaults(stdout io.Writer) error { return config.PrintDefaults(stdout) }
