package hashring

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// maxMembers and maxWeight in total leave each virtual member four slots,
	// and keep a build within half a second.
	maxMembers = 1024
	maxTotal   = 4096
	// maxWeight: a member a hundred times another is a mistake in a unit.
	maxWeight = 100
	// maxName is what fits into any record of names.
	maxName = 255
)

// Member is one node of a tier, as the others know it.
type Member struct {
	// Name tells it apart: 1–255 bytes of UTF-8 without control characters.
	// With the placement [Skipper] it is the endpoint's address as a Skipper
	// has it configured.
	Name string
	// Weight is its number of virtual members, 1–100: its share of the keys
	// against the others'.
	Weight int
	// Zone is where it stands. Rings do not look at it.
	Zone string
	// State says whether it owns keys.
	State State
	// Joined is when it began to serve, as it announced itself: all nodes then
	// fade it in alike. Zero if it did not.
	Joined time.Time
}

// State is what a member does now.
type State uint8

const (
	// Serving members own keys.
	Serving State = iota
	// Away members do not answer, but may come back at once: they keep their
	// keys, so that a restart moves none.
	Away
	// Starting members are not caught up with the stream and own nothing yet.
	Starting
	// Leaving members own nothing any more.
	Leaving
)

func (s State) String() string {
	switch s {
	case Serving:
		return "serving"
	case Away:
		return "away"
	case Starting:
		return "starting"
	case Leaving:
		return "leaving"
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// owns reports whether members in this state own keys.
func (s State) owns() bool { return s == Serving || s == Away }

// owners checks a list of members and returns those that own keys, by name.
func owners(members []Member) ([]Member, error) {
	sorted := slices.SortedFunc(slices.Values(members), byName)
	for i, m := range sorted {
		if err := m.Check(); err != nil {
			return nil, err
		}
		if i > 0 && m.Name == sorted[i-1].Name {
			return nil, fmt.Errorf("member %q is there twice: give each node a name of its own", m.Name)
		}
	}
	sorted = slices.DeleteFunc(sorted, func(m Member) bool { return !m.State.owns() })
	total := 0
	for _, m := range sorted {
		total += m.Weight
	}
	switch {
	case len(sorted) == 0:
		return nil, errors.New("a ring has at least one member that serves")
	case len(sorted) > maxMembers:
		return nil, fmt.Errorf("a ring has at most %d members, not %d", maxMembers, len(sorted))
	case total > maxTotal:
		return nil, fmt.Errorf("the members' weights are at most %d together, not %d: lower all of them by a factor", maxTotal, total)
	}
	return sorted, nil
}

func byName(a, b Member) int { return strings.Compare(a.Name, b.Name) }

// Check reports what makes m no member of any ring.
func (m *Member) Check() error {
	switch {
	case m.Name == "":
		return errors.New("a member's name is not empty")
	case len(m.Name) > maxName:
		return fmt.Errorf("member %.32q…: a name has at most %d bytes, not %d", m.Name, maxName, len(m.Name))
	case !utf8.ValidString(m.Name) || strings.ContainsFunc(m.Name, unicode.IsControl):
		return fmt.Errorf("member %q: a name is UTF-8 without control characters", m.Name)
	case m.Weight < 1 || m.Weight > maxWeight:
		return fmt.Errorf("member %q: a weight is a whole number from 1 to %d, not %d", m.Name, maxWeight, m.Weight)
	case m.State > Leaving:
		return fmt.Errorf("member %q has the unknown %s", m.Name, m.State)
	}
	return nil
}
