package check

import (
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/doctor/pipeline"
)

// Result is the outcome of a run in one word.
type Result string

// The results.
const (
	Held         Result = "held"         // every check held, and the run meant something
	Violated     Result = "violated"     // at least one did not
	Inconclusive Result = "inconclusive" // none was violated, but too little was tried
)

// Status is the exit status of a command that ends with r.
func (r Result) Status() int {
	switch r {
	case Held:
		return 0
	case Violated:
		return 1
	}
	return 3
}

// Verdict is what the checker found. It is also the content of report.json.
type Verdict struct {
	Result     Result             `json:"result"`
	Missing    []string           `json:"missing,omitempty"`   // why it is inconclusive, in words
	Unchecked  []string           `json:"unchecked,omitempty"` // what cannot be judged of such a deployment, in words
	Run        history.Run        `json:"run"`
	Ended      history.Time       `json:"ended"` // 0: the history was cut off
	Checks     []Count            `json:"checks"`
	Violations []Violation        `json:"violations,omitempty"` // at most maxSamples of each check, the earliest
	Reads      Reads              `json:"reads"`
	Writes     map[string]int     `json:"writes"` // by what was done, or by outcome where that is not "committed"
	Fills      uint64             `json:"fills"`
	Reasons    map[string]int     `json:"reasons"` // fills by reason, as the nodes counted them
	Healthy    Share              `json:"healthy"` // the hot head while nothing was wrong
	Phases     []Phase            `json:"phases"`
	Unmade     []string           `json:"unmade,omitempty"` // faults for which there was no time
	Staleness  []Staleness        `json:"staleness"`
	Visibility []Visibility       `json:"visibility"`
	Pipeline   *pipeline.Pipeline `json:"pipeline,omitempty"` // what the stream can carry, if that was measured
	SlotWidth  time.Duration      `json:"slot_width"`
	Slots      []Slot             `json:"slots"`
	Lags       []history.Lag      `json:"lags"`
}

// Count is what one check had to judge.
type Count struct {
	ID       string `json:"id"`
	Says     string `json:"says"`
	Judged   uint64 `json:"judged"`
	Hits     uint64 `json:"hits"`     // of them
	Fills    uint64 `json:"fills"`    // of them
	Lifted   uint64 `json:"lifted"`   // of them: hits that were older than Δ, had the stream not vouched for them
	Excused  uint64 `json:"excused"`  // would have been violations, but a clock was being stepped
	Violated uint64 `json:"violated"` // of them
}

// Violation is one broken check.
type Violation struct {
	Check string       `json:"check"`
	At    history.Time `json:"at"`
	Key   string       `json:"key,omitempty"`
	Node  string       `json:"node,omitempty"`
	Phase string       `json:"phase"`
	What  string       `json:"what"`
}

// Reads counts reads by how they ended.
type Reads struct {
	All         uint64                  `json:"all"`
	ByMode      map[history.Mode]uint64 `json:"by_mode"`
	Answered    uint64                  `json:"answered"`
	Absent      uint64                  `json:"absent"` // of those answered
	Proved      uint64                  `json:"proved"` // of those answered: with their proof
	Hits        uint64                  `json:"hits"`   // of those proved
	Lifted      uint64                  `json:"lifted"` // of the hits
	Outside     uint64                  `json:"outside"`
	Unavailable uint64                  `json:"unavailable"`
	Lost        uint64                  `json:"lost"`
	Refused     uint64                  `json:"refused"`
}

// Share is what the reads of the hot head under the use case's bound came to.
type Share struct {
	Reads  uint64 `json:"reads"` // with a proof
	Hits   uint64 `json:"hits"`
	Lifted uint64 `json:"lifted"` // of the hits
}

func (s *Share) add(o Share) {
	s.Reads += o.Reads
	s.Hits += o.Hits
	s.Lifted += o.Lifted
}

// hitShare is the share of hits among the reads.
func (s Share) hitShare() float64 { return ratio(s.Hits, s.Reads) }

func ratio(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Phase is a stretch of the run in which the same faults were going on.
type Phase struct {
	Name  string       `json:"name"` // Quiet, Recovering, or the names of the faults
	From  history.Time `json:"from"`
	To    history.Time `json:"to"`
	After bool         `json:"after"` // there were faults before
	Hot   Share        `json:"hot"`
}

// The phases that are no faults.
const (
	Quiet      = "healthy"
	Recovering = "recovering" // no fault any more, for less than ten seconds
)

// Staleness is how long answers had been overwritten when their read began,
// for reads of one use case under its own bound.
type Staleness struct {
	UseCase string        `json:"use_case"`
	Phase   string        `json:"phase"`
	Bound   time.Duration `json:"bound"`
	Outside bool          `json:"outside,omitempty"` // those that were marked as outside the bound
	Histogram
}

// Visibility is how many writes could be read everywhere, Δ after their
// acknowledgement.
type Visibility struct {
	Bound      time.Duration `json:"bound"`
	Phase      string        `json:"phase"`
	Probes     uint64        `json:"probes"` // reads, one per write and node
	Late       uint64        `json:"late"`   // answered with an older version
	Unanswered uint64        `json:"unanswered"`
	Hits       uint64        `json:"hits"`
}

// Slot is a short stretch of the run.
type Slot struct {
	Reads    uint64 `json:"reads"`
	Troubles uint64 `json:"troubles"`
	Proved   uint64 `json:"proved"`
	Hits     uint64 `json:"hits"`
	Hot      Share  `json:"hot"`
	// Violated are the violations of each check, C0 first.
	Violated [checks]uint64 `json:"violated,omitzero"`
}
