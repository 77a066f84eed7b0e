package audit

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// maxKept violations are kept, the newest.
const maxKept = 100

// Violation is an entry that claimed to be fresher than it was. Times are the
// source's. It holds a key, which may be anybody's name; values it has none.
type Violation struct {
	UseCase    string   `json:"use_case"`
	Key        string   `json:"key"`
	Hash       string   `json:"hash"`
	Found      string   `json:"found"`       // when
	By         string   `json:"by"`          // "change": one that was followed; "entry": a look at what is held
	Change     string   `json:"change"`      // with by: change, which one
	AsOf       string   `json:"as_of"`       // no successor of the value was visible then, says the entry
	SourceRead string   `json:"source_read"` // the source had another value at or before it
	Held       string   `json:"held"`        // what the entry has: its size
	Source     string   `json:"source"`      // what the source had: its size
	LastSeen   string   `json:"last_seen"`   // the entry was still there
	Gone       string   `json:"gone"`        // it was not any more; empty: not found gone yet
	Trace      []string `json:"trace"`       // what had happened to the key
}

// violation is one that is kept.
type violation struct {
	Violation
	key   proxy.Key
	entry proxy.EntryID
	found proxy.Time
	looks []time.Duration // those to come, after it was found
}

// followUps are when the entry of a violation is looked at again.
var followUps = []time.Duration{time.Minute, 5 * time.Minute, 10 * time.Minute}

// violated tells of an entry that has claimed too much, once for each entry.
func (a *Auditor) violated(s *suspect, held proxy.Held) {
	if !s.settled {
		s.wrong = s.entry
		a.inconsistent(s.sample)
	}
	v := a.describe(s, held)
	if !a.keep(v) {
		return
	}
	a.metrics.violation(s.key, s.picked)
	a.log.Error("entry contradicts the source: a change was lost, or a rule broken",
		"use_case", v.UseCase, "hash", v.Hash, "by", v.By, "change", v.Change,
		"as_of", v.AsOf, "source_read", v.SourceRead, "held", v.Held, "source", v.Source, "trace", v.Trace)
}

func (a *Auditor) describe(s *suspect, held proxy.Held) *violation {
	v := &violation{key: s.key, entry: s.entry, found: a.now, looks: followUps}
	v.Violation = Violation{
		UseCase: s.key.UseCase.Name, Key: string(s.key.Text), Hash: fmt.Sprintf("%016x", held.Hash),
		Found: proxy.TimeText(a.now), By: "entry", AsOf: proxy.TimeText(held.AsOf), SourceRead: proxy.TimeText(s.seen),
		Held: content(s.held), Source: content(s.had), LastSeen: proxy.TimeText(a.now), Trace: a.cache.Trace(s.key),
	}
	if !s.picked {
		v.By = "change"
		v.Change = fmt.Sprintf("partition %d, offset %d, position %d/%d",
			s.change.record.Partition, s.change.record.Offset, s.change.position.Commit, s.change.position.Seq)
	}
	return v
}

// keep keeps a violation, unless the same entry is there already.
func (a *Auditor) keep(v *violation) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.kept {
		if k.entry == v.entry && k.Key == v.Key {
			k.LastSeen = v.Found
			return false
		}
	}
	if len(a.kept) == maxKept {
		a.kept = slices.Delete(a.kept, 0, 1)
	}
	a.kept = append(a.kept, v)
	return true
}

// followUp looks again at the entries of violations whose time has come.
func (a *Auditor) followUp() {
	for _, v := range a.followed() {
		held := a.cache.Peek(v.key)
		there := held.Entry == v.entry && (held.Holding == proxy.Served || held.Holding == proxy.Aged)
		a.mu.Lock()
		v.looks = v.looks[1:]
		if there {
			v.LastSeen = proxy.TimeText(a.now)
		} else {
			v.Gone, v.looks = proxy.TimeText(a.now), nil
		}
		a.mu.Unlock()
	}
}

func (a *Auditor) followed() (due []*violation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, v := range a.kept {
		if len(v.looks) > 0 && a.now.Sub(v.found) >= v.looks[0] {
			due = append(due, v)
		}
	}
	return due
}

// Violations returns the newest violations, oldest first.
func (a *Auditor) Violations() []Violation {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := []Violation{}
	for _, v := range a.kept {
		out = append(out, v.Violation)
	}
	return out
}

func content(bytes int) string {
	if bytes == noRow {
		return "no such row"
	}
	return strconv.Itoa(bytes) + " bytes"
}
