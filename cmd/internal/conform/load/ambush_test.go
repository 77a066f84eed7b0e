package load

import (
	"bufio"
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
)

// fickle is a node that knows no row, and ends every connection after some
// commands: one more each time.
type fickle struct {
	net.Listener
	cuts chan int
	all  sync.WaitGroup
}

func newFickle(t *testing.T) *fickle {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fickle{Listener: l, cuts: make(chan int, 1000)}
	f.all.Go(func() {
		for n := 0; ; n++ {
			c, err := f.Accept()
			if err != nil {
				return
			}
			f.all.Go(func() {
				defer c.Close()
				serve(c, n)
				f.cuts <- n
			})
		}
	})
	return f
}

func (f *fickle) Nodes() []string       { return []string{"n"} }
func (f *fickle) Address(string) string { return f.Addr().String() }

// serve answers so many commands that there is nothing.
func serve(c io.ReadWriter, commands int) {
	in := bufio.NewReader(c)
	for range commands {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "*")))
		for range 2 * n {
			if _, err := in.ReadString('\n'); err != nil {
				return
			}
		}
		if _, err := io.WriteString(c, "$-1\r\n"); err != nil {
			return
		}
	}
}

// Wherever a connection ends, whoever lies in wait begins again with another.
func TestAmbushesSurviveTheirConnections(t *testing.T) {
	for name, run := range map[string]func(*Load, context.Context, *draw) error{
		"echo":   func(l *Load, ctx context.Context, d *draw) error { return l.echo(ctx, "n", d) },
		"swing":  func(l *Load, ctx context.Context, d *draw) error { return l.swing(ctx, 0, "n", d) },
		"shadow": func(l *Load, ctx context.Context, d *draw) error { return l.shadow(ctx, "n", d) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, db, f := keep(), database(t), newFickle(t)
			l := New(db, f, []UseCase{wholeRow, value}, k.Writer, Options{Keys: 100, Patience: 1e10})
			if err := l.Seed(t.Context()); err != nil {
				t.Fatal(err)
			}
			for id := range len(l.lately.ids) {
				l.lately.add([]table.Change{{Op: table.Update, ID: id}, {Op: table.Group}})
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- run(l, ctx, l.keys.draw(1, 1)) }()
			for cut := range f.cuts {
				if cut >= 13 {
					break
				}
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			f.Close()
			f.all.Wait()
			own := 0
			for _, w := range k.writes(t) {
				if w.Op == table.Update.String() {
					own++
				}
			}
			if own == 0 && name != "shadow" {
				t.Error("nothing was written")
			}
		})
	}
}
