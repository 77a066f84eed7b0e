package command

import (
	"cmp"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/resp"
)

// Inspector is what the FRESHET commands ask of the node beyond its Source.
type Inspector interface {
	// Explain says what a read of the key would find now, as names and values.
	Explain(key proxy.Key) [][2]string
	// Invalidate drops what is cached of the key, here and at all other nodes. It
	// names those that may not have heard of it.
	Invalidate(key proxy.Key) (untold []string)
	// Void drops everything cached of a use case, likewise.
	Void(u *proxy.UseCase) (untold []string)
	// Lag says how far behind its sources this node is.
	Lag() [][2]string
}

// Memory is what DBSIZE, MEMORY USAGE and INFO ask of the cache.
type Memory interface {
	// Entries is about how many entries are held.
	Entries() int64
	// EntryBytes is how much memory the entry of a key takes; held is false if
	// there is none.
	EntryBytes(key proxy.Key) (n int, held bool)
	// Used is how much memory all entries take, and how much they may.
	Used() (used, bound int64)
}

// Options of the commands. The zero value of a field means its default.
type Options struct {
	Limits     resp.Limits   // of one request
	FlushBytes int           // replies gathered before they must be written; default 64 KiB
	BatchKeys  int           // most keys of a pipeline that go to the source together; default 1024. One MGET always does
	BatchBytes int           // values of a pipeline to have in memory at a time, about; default 4 MiB
	Users      Users         // who must say who they are; default nil: nobody must, and everybody may everything
	Scanner    proxy.Scanner // lists keys; default nil: SCAN is refused
	Memory     Memory        // what is held here; default nil: nothing
	Settings   [][2]string   // what CONFIG GET tells, beside what is true of every node
	Cluster    Cluster       // for sessions that redirect; default nil: there are none
	Version    string        // of Freshet, as INFO tells it; default "devel"

	// Reads says how many reads were answered from memory, and how many were not.
	// Default nil: INFO does not tell.
	Reads func() (hits, misses uint64)
}

func (o Options) withDefaults() Options {
	o.FlushBytes = cmp.Or(o.FlushBytes, 64<<10)
	o.BatchKeys = cmp.Or(o.BatchKeys, 1024)
	o.BatchBytes = cmp.Or(o.BatchBytes, 4<<20)
	if o.Memory == nil {
		o.Memory = nothing{}
	}
	o.Version = cmp.Or(o.Version, "devel")
	return o
}

// redisVersion is the Redis whose protocol this is: clients decide by it what
// to send.
const redisVersion = "7.0.15"

// Commands are the table of commands over one catalog and one source.
type Commands struct {
	catalog   *proxy.Catalog
	source    proxy.Source
	inspector Inspector
	opts      Options
	started   time.Time

	users Users
	first *proxy.Rights // of a new connection; nil: who begins must say who they are

	rows   []command
	byName map[string]*command
	shards []counters
	lastID atomic.Int64

	cursors *cursors
	clients clients
}

// counters count the commands of some sessions by row of the table, the last
// one those that are in no row. Sessions are spread over several, so that a
// command costs no cache line that all processors write.
type counters struct {
	n []atomic.Uint64
	_ [64]byte
}

// New returns the commands.
func New(catalog *proxy.Catalog, source proxy.Source, inspector Inspector, opts Options) *Commands {
	c := &Commands{
		catalog: catalog, source: source, inspector: inspector,
		opts: opts.withDefaults(), started: time.Now(),
		users: opts.Users,
		rows:  table(), byName: map[string]*command{},
		shards: make([]counters, 4*runtime.GOMAXPROCS(0)),

		cursors: newCursors(),
		clients: clients{byID: map[int64]*Session{}},
	}
	if c.users == nil {
		c.first = proxy.AllRights(catalog)
		c.users = everybody{c.first}
	}
	for i := range c.rows {
		c.rows[i].index, c.rows[i].full = i, c.rows[i].name
		for j := range c.rows[i].subs {
			sub := &c.rows[i].subs[j]
			sub.index, sub.full = i, c.rows[i].name+"|"+sub.name
		}
		c.byName[c.rows[i].name] = &c.rows[i]
	}
	for i := range c.shards {
		c.shards[i].n = make([]atomic.Uint64, len(c.rows)+1)
	}
	return c
}

// Counts calls yield with each command of the table and how often it was
// called, and with "other" for all that is in no row.
func (c *Commands) Counts(yield func(name string, calls uint64)) {
	for i := range len(c.rows) + 1 {
		name := "other"
		if i < len(c.rows) {
			name = c.rows[i].name
		}
		calls := uint64(0)
		for j := range c.shards {
			calls += c.shards[j].n[i].Load()
		}
		yield(name, calls)
	}
}

// maxName bounds the names of the table.
const maxName = 32

// lookup finds a command by its name in any case.
func (c *Commands) lookup(name []byte) *command {
	var room [maxName]byte
	if len(name) > maxName {
		return nil
	}
	return c.byName[string(lower(room[:0], name))]
}

func lower(dst, name []byte) []byte {
	for _, b := range name {
		if 'A' <= b && b <= 'Z' {
			b |= 0x20
		}
		dst = append(dst, b)
	}
	return dst
}
