package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/client"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/clock"
)

// Tier is the nodes that are read.
type Tier interface {
	// Nodes names them.
	Nodes() []string
	// Address is where a node now serves; empty while it is down.
	Address(node string) string
}

// UseCase is a use case over the table.
type UseCase struct {
	history.UseCase
	ByAlias  bool // its key is the alias, not the id
	WholeRow bool // GET gives the row as JSON, not the value
	Writable bool // SET writes the value
	Padded   bool // a row has its pad, as table.PadOf has it
}

// Key spells the key of a row.
func (u *UseCase) Key(id int) string {
	if u.ByAlias {
		return u.Name + ":" + table.AliasOf(id)
	}
	return fmt.Sprintf("%s:%d", u.Name, id)
}

// Options say how much of it there is.
type Options struct {
	Seed       uint64
	Keys       int           // rows that are there at first; as many ids as a tenth of it more are used, others for a moment, and some never
	Writers    int           // connections that write in the database
	WritePause time.Duration // of one of them, on average, between two transactions
	Readers    int           // connections that read, for each node
	Sessions   int           // connections that read and write in sessions, for each node
	ReadPause  time.Duration // of one of them, on average, between two pipelines
	Patience   time.Duration // how long a reply may take
	User       string        // who to be at the nodes
	Password   string        // none: who this is, is not said
}

// Load is the traffic.
type Load struct {
	db       table.Database
	tier     Tier
	useCases []UseCase
	history  *history.Writer
	opts     Options
	keys     keys

	values   atomic.Uint64 // the last number given out
	sessions atomic.Uint64
	unread   atomic.Uint64 // rows that were written and nobody had read
	tokens   tokens
	lately   lately

	mu      sync.Mutex
	claimed map[uint64]bool // places in the log that a record explains
	pending []pendingWrite
}

// tokens is the newest write through a node, for readers elsewhere.
type tokens struct{ last atomic.Pointer[written] }

type written struct {
	id    int
	token proxy.Time
}

// New returns the traffic of a run.
func New(db table.Database, tier Tier, useCases []UseCase, h *history.Writer, opts Options) *Load {
	return &Load{
		db: db, tier: tier, useCases: useCases, history: h, opts: opts,
		keys: newKeys(opts.Keys), claimed: map[uint64]bool{},
	}
}

// now is the run's clock.
func now() history.Time { return history.Time(clock.Boottime()) }

// reserve gives out n numbers of which nobody has had one, and returns the
// first.
func (l *Load) reserve(n uint64) uint64 { return l.values.Add(n) - n + 1 }

// claim notes that a place in the log is explained.
func (l *Load) claim(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claimed[seq] = true
}

// record writes down a version of a row, under every use case.
func (l *Load) record(log *history.Log, of table.Logged, w history.Write) error {
	if w.Seq = of.Seq; w.Seq != 0 {
		l.claim(w.Seq)
	}
	w.Value = of.Value
	node := w.Node
	for i := range l.useCases {
		w.Key, w.Node = l.useCases[i].Key(of.ID), ""
		if &l.useCases[i] == l.writable() { // which alone is written through
			w.Node = node
		}
		if err := log.Write(&w); err != nil {
			return err
		}
	}
	return nil
}

// committed writes down what a transaction of our own has changed. Of a row
// that it changed several times nobody may see any but the last version.
func (l *Load) committed(log *history.Log, d *table.Done, op string) error {
	for i, of := range d.Logged {
		w := history.Write{Op: op, Begun: d.Begun, Acked: d.Acked}
		if overwritten(d.Logged[i+1:], of.ID) {
			w.Outcome = history.Passed
		}
		if err := l.record(log, of, w); err != nil {
			return err
		}
	}
	return nil
}

func overwritten(later []table.Logged, id int) bool {
	for _, of := range later {
		if of.ID == id {
			return true
		}
	}
	return false
}

// Seed inserts the first rows.
func (l *Load) Seed(ctx context.Context) (err error) {
	conn, err := l.db.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	log := l.history.Log()
	const batch = 200
	for first := 0; first < l.opts.Keys; first += batch {
		var changes []table.Change
		for id := first; id < min(first+batch, l.opts.Keys); id++ {
			changes = append(changes, table.Change{Op: table.Insert, ID: id, Value: l.reserve(1)})
		}
		d, err := conn.Transact(ctx, changes, false)
		if err != nil {
			return fmt.Errorf("insert the first rows: %w", err)
		}
		if err := l.committed(log, &d, "insert"); err != nil {
			return err
		}
	}
	return log.Flush()
}

// dial connects to a node, or waits and returns nil if that is not possible
// now.
func (l *Load) dial(ctx context.Context, node string) *client.Client {
	if address := l.tier.Address(node); address != "" {
		if c, err := l.enter(ctx, address); err == nil {
			return c
		}
	}
	pause.For(ctx, 20*time.Millisecond)
	return nil
}

func (l *Load) enter(ctx context.Context, address string) (*client.Client, error) {
	c, err := client.Dial(ctx, address, l.opts.Patience)
	if err != nil || l.opts.Password == "" {
		return c, err
	}
	if err := c.Login(l.opts.User, l.opts.Password); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
