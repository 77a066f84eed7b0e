package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
)

func dev(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flags("dev", "[flags]", stdout)
	var o node.DevOptions
	f.StringVar(&o.Listen, "listen", "127.0.0.1:6400", "address for Redis clients; further nodes take the next ports")
	f.StringVar(&o.Admin, "admin", "127.0.0.1:6480", "address for /metrics, /healthz, /readyz and pprof; further nodes take the next ports")
	f.StringVar(&o.Kafka, "kafka", "127.0.0.1:6492", "address of the Kafka broker in this process")
	f.StringVar(&o.Dir, "dir", "", "folder of the database and the broker's log, kept and found again; none: a temporary one, removed at the end")
	f.IntVar(&o.Nodes, "nodes", 1, "how many nodes follow the stream, 1 to 12")
	insecure := f.Bool("insecure", false, "listen where others can reach it: everybody may do everything")
	var level slog.Level
	f.TextVar(&level, "log-level", slog.LevelWarn, "the least level that is logged: debug, info, warn, error")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	if o.Nodes < 1 || o.Nodes > 12 {
		return &usageError{"dev: --nodes is from 1 to 12"}
	}
	if _, _, err := net.SplitHostPort(o.Listen); err == nil && !*insecure && !config.Loopback(o.Listen) {
		return &usageError{fmt.Sprintf("dev: others can reach %s, and there are no users; add --insecure if that is meant", o.Listen)}
	}
	log := logger(level, stderr)
	d, err := node.OpenDev(ctx, o, log)
	if err != nil {
		return err
	}
	defer remember(d.Database(), stderr)()
	if err := node.LimitMemory(int64(o.Nodes)*int64(config.Default().Memory.Budget), log); err != nil {
		log.Warn("much data will not fit", "err", err) // the sample does
		node.KeepToContainer()
	}
	ctx, end := context.WithCancel(ctx)
	var greeting sync.WaitGroup
	defer greeting.Wait()
	defer end() // first: Run may have ended by itself, and the greeting may still wait
	greeting.Go(func() {
		if d.Ready(ctx) == nil {
			greet(d.Addresses(), stdout)
		}
	})
	return d.Run(ctx)
}

// greet prints what to try.
func greet(addresses []string, w io.Writer) {
	host, port, _ := net.SplitHostPort(addresses[0]) // of a listener, so it is one
	cli := fmt.Sprintf("redis-cli -h %s -p %s", host, port)
	fmt.Fprintf(w, "Freshet answers at %s. Try:\n", strings.Join(addresses, ", "))
	fmt.Fprintf(w, "  %s GET users:42\n", cli)
	fmt.Fprintf(w, "  freshet dev sql \"UPDATE users SET credit = credit + 1 WHERE id = 42\"\n")
	fmt.Fprintf(w, "  %s FRESHET.GET users:42 PROOF\n", cli)
}

func devSQL(ctx context.Context, args []string, stdout, _ io.Writer) error {
	f := flags("dev sql", "[--dir DIR] STATEMENT", stdout)
	dir := f.String("dir", "", "the folder that freshet dev was given; none: the freshet dev that was started last")
	if err := parse(f, args, 1); err != nil {
		return err
	}
	path := filepath.Join(*dir, node.DevDatabase)
	if *dir == "" {
		found, err := os.ReadFile(pointer())
		if err != nil {
			return fmt.Errorf("no freshet dev is running here; start one, or name its folder with --dir")
		}
		path = string(found)
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("there is no database of freshet dev: %w", err)
	}
	return node.SQL(ctx, path, f.Arg(0), stdout)
}

// pointer is the file that names the database of this user's freshet dev.
func pointer() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("freshet-dev-%d", os.Getuid()))
}

// remember writes the pointer file, and returns what removes it again unless
// another freshet dev has written it since.
func remember(database string, stderr io.Writer) (forget func()) {
	// Renamed into place: what stands under the name is replaced, not followed.
	draft := fmt.Sprintf("%s.%d", pointer(), os.Getpid())
	err := os.WriteFile(draft, []byte(database), 0o600)
	if err == nil {
		err = os.Rename(draft, pointer())
	}
	if err != nil {
		fmt.Fprintf(stderr, "freshet dev sql will need --dir: %v\n", err)
	}
	return func() {
		if now, err := os.ReadFile(pointer()); err == nil && string(now) == database {
			os.Remove(pointer())
		}
	}
}
