package history

import (
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// Format is the number of the format that this package writes and reads.
const Format = 1

// Time is a moment of the run's clock, in nanoseconds. 0 is no moment.
type Time int64

// Add returns t moved by d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns t − u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Run opens a history.
type Run struct {
	Format   int       `json:"format"`
	Command  string    `json:"command"` // what to type for the same run
	Seed     uint64    `json:"seed"`
	Started  time.Time `json:"started"` // for people
	At       Time      `json:"at"`
	Nodes    []string  `json:"nodes"`
	UseCases []UseCase `json:"use_cases"`
	Faults   []string  `json:"faults,omitempty"` // that it was to have, as [Fault.String] calls them
	// Live: the deployment was there before and serves others too. Its nodes
	// write down no fills, and what others change is not in the history.
	Live bool `json:"live,omitempty"`
}

// UseCase is what the deployment promises for keys of one prefix.
type UseCase struct {
	Name     string        `json:"name"`
	Bound    time.Duration `json:"bound"`
	MaxStale time.Duration `json:"max_stale,omitempty"` // on_unavailable: stale, up to this
	TTLMax   time.Duration `json:"ttl_max,omitempty"`   // the longest life of an entry; 0: longer than the run
}

// Outcome says whether a write was carried out.
type Outcome string

// The outcomes of a write.
const (
	Committed  Outcome = ""
	RolledBack Outcome = "rolled back"
	Passed     Outcome = "passed"  // committed, but written over in its own transaction: nobody may see it
	Unknown    Outcome = "unknown" // nobody could find out
)

// Write makes one version of one key.
type Write struct {
	Key     string
	Seq     uint64     // place among the versions of the key; 0: not known, as for what was rolled back
	Value   uint64     // the number in the value; 0: no row
	Op      string     // "insert", "update", "delete", …: for people
	Node    string     // the node that it went through, under this key; empty: none, it was made in the database
	Session uint64     // the session it was made in; 0: none
	Token   proxy.Time // the token that a node gave for it; 0: none
	Begun   Time       // it was not visible before
	Acked   Time       // it was visible by then, if it was committed
	Outcome Outcome
}

// Truncate makes every key of a use case absent.
type Truncate struct {
	UseCase string  `json:"use_case"`
	Seq     uint64  `json:"seq"`
	Begun   Time    `json:"begun"`
	Acked   Time    `json:"acked"`
	Outcome Outcome `json:"outcome,omitempty"`
}

// Mode is how a read was made.
type Mode string

// The modes of a read.
const (
	Plain    Mode = "get"
	Many     Mode = "mget" // several keys in one command
	MaxStale Mode = "maxstale"
	Strong   Mode = "strong"
	Token    Mode = "token"
	Session  Mode = "session" // plain, on a connection in session mode
)

// Trouble says why a read was not answered.
type Trouble string

// The troubles of a read.
const (
	NoTrouble   Trouble = ""
	Unavailable Trouble = "unavailable" // -UNAVAILABLE
	Lost        Trouble = "lost"        // the connection
	Refused     Trouble = "refused"     // any other error reply
)

// Origin is where an answer came from, as its proof says it.
type Origin string

// The origins of an answer.
const (
	NoProof  Origin = "" // the reply had none
	FromFill Origin = "fill"
	FromHit  Origin = "hit"
	Stale    Origin = "stale"
)

// Read is one key of one read. If Trouble and Odd are empty it was answered,
// with Value.
type Read struct {
	Key      string
	Node     string
	Mode     Mode
	Session  uint64        // 0: none
	Invoked  Time          // before its first byte was sent
	Answered Time          // after the last byte of its reply came
	Bound    time.Duration // Δ that it was read under; 0 for Strong
	Token    proxy.Time    // it asked for nothing older; 0: it did not ask
	Probe    uint64        // it looks for this Seq or a later one, Δ after its write was acknowledged; 0: no probe
	Hot      bool          // its key is of the hot head, which ought to be hits
	Value    uint64        // 0: no such row
	Odd      string        // what was answered, if that was no value of this key
	Trouble  Trouble
	Origin   Origin
	AsOf     proxy.Time // of the proof
	Upper    proxy.Time // of the proof: the value was last read, or brought by a change, at or before it; 0: not told
	Outside  bool       // of the proof: not within the bound
}

// Answer reports whether r was answered with a value or with "no such row".
func (r *Read) Answer() bool { return r.Trouble == NoTrouble && r.Odd == "" }

// Fill is one key of one call to the source by a node.
type Fill struct {
	Key    string
	Node   string
	Life   uint64 // as in Counters
	Sent   Time
	Ended  Time
	Failed bool
}

// Fault is the begin or the end of one fault.
type Fault struct {
	ID     uint64 `json:"id"`   // the same at begin and end
	Name   string `json:"name"` // "kill", "freeze", …
	Target string `json:"target,omitempty"`
	At     Time   `json:"at"`
	End    bool   `json:"end,omitempty"`
	// Clocks: it steps the source's clock or a node's. Until it has ended, which
	// it has when the node has had the time to notice, ages mean nothing and
	// what is judged by them is excused.
	Clocks bool `json:"clocks,omitempty"`
}

// String tells it from others of the same run.
func (f *Fault) String() string { return f.Name + " of " + f.Target }

// Clock says that at At the source's clock stood between Lo and Hi.
type Clock struct {
	At Time       `json:"at"`
	Lo proxy.Time `json:"lo"`
	Hi proxy.Time `json:"hi"`
}

// Counters is what one life of a node has counted for one use case.
type Counters struct {
	At        Time              `json:"at"`
	Node      string            `json:"node"`
	Life      uint64            `json:"life"` // one more at every start of the node
	UseCase   string            `json:"use_case"`
	Final     bool              `json:"final,omitempty"` // the last of this life, with nothing under way
	Fills     map[string]uint64 `json:"fills"`           // freshet_cache_fills_total, by reason
	Hits      uint64            `json:"hits"`            // freshet_cache_hits_total
	Joins     uint64            `json:"joins"`           // freshet_cache_joins_total
	Refused   uint64            `json:"refused"`         // freshet_cache_installs_refused_total
	Replaced  uint64            `json:"replaced"`        // freshet_cache_replaced_total
	Dropped   uint64            `json:"dropped"`         // freshet_cache_dropped_total
	Voids     uint64            `json:"voids"`           // freshet_cache_voids_total
	Evictions uint64            `json:"evictions"`       // freshet_cache_evictions_total, which is of all use cases
	// Instead is reads that nodes made in the place of another, or beside it, or
	// ahead of clients: freshet_route_reads_total where the owner had no answer,
	// freshet_route_hedges_in_vain_total, freshet_route_misplaced_total and
	// freshet_route_warmed_total. They are of all use cases, and 0 without a tier.
	Instead uint64 `json:"instead,omitempty"`
}

// Lag says how far a node has followed.
type Lag struct {
	At   Time          `json:"at"`
	Node string        `json:"node"`
	Age  time.Duration `json:"age"` // of the watermark; below 0: there is none
}

// End closes a history: without it, the run was cut off.
type End struct {
	At Time `json:"at"`
}
