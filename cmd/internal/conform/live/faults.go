package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
)

// Faults are those that the configuration has commands for. They change no
// table.
func (d *Deployment) Faults(part.Change) []fault.Fault {
	var out []fault.Fault
	for _, f := range d.opts.Config.Conform.Faults {
		one := part.Lasting(f.Name, f.Target, time.Duration(f.For), time.Duration(f.For), d.command(f, f.Begin), d.command(f, f.End))
		one.Clocks = f.Clocks
		out = append(out, one)
	}
	return out
}

// aCommand is how long one may take.
const aCommand = time.Minute

// command runs one; nil if there is none.
func (d *Deployment) command(f config.ConformFault, text string) func(context.Context) error {
	if text == "" {
		return nil
	}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, aCommand)
		defer cancel()
		path := filepath.Join(d.opts.Out, "faults.log")
		log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		fmt.Fprintf(log, "# %s %s: %s\n", f.Name, f.Target, text)
		cmd := exec.CommandContext(ctx, "sh", "-c", text)
		cmd.Env = append(os.Environ(), "FRESHET_FAULT="+f.Name, "FRESHET_TARGET="+f.Target)
		// What it leaves in the background may keep the file, and is not waited
		// for.
		cmd.Stdout, cmd.Stderr = log, log
		apart(cmd)
		err = cmd.Run()
		if ctx.Err() != nil {
			err = fmt.Errorf("it did not return within %v: let it leave in the background (&) what lasts", aCommand)
		}
		if err != nil {
			err = fmt.Errorf("the command %q: %w; %s has what it said", text, err, path)
		}
		return errors.Join(err, log.Close())
	}
}
