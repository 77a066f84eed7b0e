package debezium

import (
	"strings"

	"github.com/freshet-cache/freshet/proxy"
)

// schema is what the newest checkpoint has shown of the catalog: schema changes
// make no records.
type schema struct {
	covers string // how a row's fingerprint begins that can be used
	read   string // what the node read itself, when it last had to

	print string // of the newest checkpoint
	t     proxy.Time
	of    proxy.Identity
}

// changed takes in what a checkpoint shows: the fingerprint of its row, or what
// was read after it came. It reports whether it is another than the newest one's.
// A checkpoint of an earlier T, of another partition, say, or one that comes
// again, shows nothing that was not known. The first one does: what was read
// before it may be of any form.
func (s *schema) changed(m *Mark, own bool) bool {
	if m.Source == s.of && m.T < s.t {
		return false
	}
	print := m.Fingerprint
	if own {
		print = s.read
	}
	same := print == s.print && s.t != 0
	s.print, s.t, s.of = print, m.T, m.Source
	return !same
}

// usable reports whether a row's fingerprint says enough.
func (s *schema) usable(m *Mark) bool {
	return m.Fingerprint != "" && strings.HasPrefix(m.Fingerprint, s.covers)
}
