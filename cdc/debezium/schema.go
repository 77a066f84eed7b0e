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

	known bool   // there was a checkpoint since the position was established
	print string // of the newest one
	seq   uint64
	of    proxy.Identity
}

// changed takes in what a checkpoint shows: the fingerprint of its row, or what
// was read after it came. It reports whether it is another than the newest one's.
// One of an earlier heartbeat, of another partition, say, or one that comes
// again, shows nothing that was not known. (Its T would not tell: the source's
// clock may step back. Of several tables of checkpoints the one that has counted
// furthest decides, and no watermark rises above its last T.) The first one does:
// what was read before it may be of any form.
func (s *schema) changed(m *Mark, own bool) bool {
	if s.known && m.Source == s.of && m.Seq < s.seq {
		return false
	}
	print := m.Fingerprint
	if own {
		print = s.read
	}
	same := s.known && print == s.print
	s.known, s.print, s.seq, s.of = true, print, m.Seq, m.Source
	return !same
}

// forget is for a position that is established anew: from there on the table of
// checkpoints may be another one, which counts from the beginning.
func (s *schema) forget() { *s = schema{covers: s.covers, read: s.read} }

// usable reports whether a row's fingerprint says enough.
func (s *schema) usable(m *Mark) bool {
	return m.Fingerprint != "" && strings.HasPrefix(m.Fingerprint, s.covers)
}
