package doctor

import (
	"fmt"
	"slices"
)

// Level is how bad a finding is.
type Level int

// The levels.
const (
	OK      Level = iota // as it has to be
	Note                 // good to know
	Warning              // the promise holds, and something is lost: hits, a warm cache, safety against what may come
	Error                // it does not work, or the promise rests on what is not so
)

var levels = []string{"ok", "note", "warning", "error"}

func (l Level) String() string { return levels[l] }

// MarshalText writes the level's word.
func (l Level) MarshalText() ([]byte, error) { return []byte(levels[l]), nil }

// UnmarshalText reads the level's word.
func (l *Level) UnmarshalText(text []byte) error {
	i := slices.Index(levels, string(text))
	if i < 0 {
		return fmt.Errorf("%q is no level", text)
	}
	*l = Level(i)
	return nil
}

// Finding is the outcome of one check.
type Finding struct {
	Check  string `json:"check"`           // what is checked, in one or two words
	About  string `json:"about,omitempty"` // which of several: a use case, a table, a topic, an address
	Level  Level  `json:"level"`
	Found  string `json:"found"`
	Wanted string `json:"wanted,omitempty"`
	Why    string `json:"why,omitempty"`
	Mend   *Mend  `json:"mend,omitempty"`
}

// Mend is what to do about a finding. What can be carried out as it stands is
// apart from the words.
type Mend struct {
	Do        string            `json:"do,omitempty"`        // in words
	SQL       []string          `json:"sql,omitempty"`       // statements for the database, each by itself
	By        string            `json:"by,omitempty"`        // who may run them
	Topic     map[string]string `json:"topic,omitempty"`     // settings of the topic that the finding is about
	Connector map[string]string `json:"connector,omitempty"` // settings of the connector
	Config    map[string]string `json:"config,omitempty"`    // settings of the configuration
}

// findings are what one judge found.
type findings []Finding

// check adds a finding that is only bad if it is not fine.
func (fs *findings) check(fine bool, f Finding) {
	if fine {
		f = Finding{Check: f.Check, About: f.About, Found: f.Found}
	}
	*fs = append(*fs, f)
}

// tell adds a finding as it is.
func (fs *findings) tell(f Finding) { *fs = append(*fs, f) }

// worst returns the highest level.
func (fs findings) worst() (l Level) {
	for i := range fs {
		l = max(l, fs[i].Level)
	}
	return l
}

func do(format string, args ...any) *Mend { return &Mend{Do: fmt.Sprintf(format, args...)} }

func sql(by string, statements ...string) *Mend { return &Mend{SQL: statements, By: by} }

// setting is a mend by the configuration.
func setting(name, value string) *Mend { return &Mend{Config: map[string]string{name: value}} }
