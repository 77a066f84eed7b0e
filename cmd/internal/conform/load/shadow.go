package load

import (
	"context"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/client"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
)

// The times of a shadow: it looks for as long as a commit may take to be seen
// where a fault is, and some bounds more.
const (
	shadows     = 2 // for each node
	shadowRows  = 16
	shadowLooks = 20
	shadowPause = 250 * time.Millisecond
)

// lately are the rows that writers were about to change last.
type lately struct {
	mu  sync.Mutex
	ids [2 * shadowRows]int
	n   int // ever
}

func (l *lately) add(changes []table.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range changes {
		if c.Op <= table.Move {
			l.ids[l.n%len(l.ids)] = c.ID
			l.n++
		}
	}
}

// some draws rows of them, the same one twice now and then.
func (l *lately) some(d *draw) (ids []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n < len(l.ids) {
		return nil
	}
	for range shadowRows {
		ids = append(ids, l.ids[d.IntN(len(l.ids))])
	}
	return ids
}

// shadow reads rows again and again from when they are about to change. Few
// would be read by chance both before a change can be seen and after that: but
// an entry that is made in between is what a lost change leaves behind.
func (l *Load) shadow(ctx context.Context, node string, d *draw) error {
	log := l.history.Log()
	var c *client.Client
	defer func() {
		if c != nil {
			c.Close()
		}
	}()
	var reads []read
	for i := 0; pause.For(ctx, d.around(shadowPause)); i++ {
		if i%shadowLooks == 0 {
			reads = nil
			for _, id := range l.lately.some(d) {
				reads = append(reads, l.read(l.any(d), id, history.Plain))
			}
		}
		if c == nil {
			c = l.dial(ctx, node)
		}
		if c == nil || len(reads) == 0 {
			continue
		}
		whole, err := l.pipeline(c, log, node, proofs(reads))
		if err != nil {
			return err
		}
		if !whole {
			c.Close()
			c = nil
		}
	}
	return log.Flush()
}

// proofs reads keys with their proofs.
func proofs(reads []read) (commands []command) {
	for _, r := range reads {
		commands = append(commands, command{args: []string{"FRESHET.GET", r.Key, "PROOF"}, reads: []read{r}, proof: true})
	}
	return commands
}
