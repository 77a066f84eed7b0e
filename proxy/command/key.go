package command

import (
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// typeOf answers what kind of value a key has, if it has a row.
func (s *Session) typeOf(args [][]byte) { s.readKeys(args[1:], (*Session).answerType) }

// ttl answers that a key never expires, or that there is none.
func (s *Session) ttl(args [][]byte) { s.readKeys(args[1:], (*Session).answerTTL) }

func (s *Session) strlen(args [][]byte) { s.readKeys(args[1:], (*Session).answerStrlen) }

func (s *Session) answerType(c *call) bool {
	switch r := s.result(c.first); {
	case r.Err != nil:
		s.refuse(r.Err)
	case !r.Row.Exists():
		s.w.Simple("none")
	default:
		s.w.Simple(typeName(s.pending.requests[c.first].Key.UseCase))
	}
	return true
}

// typeName is Redis' word for the values of a use case.
func typeName(u *proxy.UseCase) string {
	if u.Mapping.Shape() == row.WholeRow {
		return "hash"
	}
	return "string"
}

func (s *Session) answerTTL(c *call) bool {
	switch r := s.result(c.first); {
	case r.Err != nil:
		s.refuse(r.Err)
	case r.Row.Exists():
		s.w.Int(-1)
	default:
		s.w.Int(-2)
	}
	return true
}

func (s *Session) answerStrlen(c *call) bool {
	r := s.result(c.first)
	if r.Err != nil {
		s.refuse(r.Err)
		return true
	}
	s.w.Int(int64(len(s.text(c, r.Row))))
	return true
}

// getRange: GETRANGE key start end, both ends included and negative ones
// counted from the end.
func (s *Session) getRange(args [][]byte) {
	s.readKeys(args[1:2], (*Session).answerGetRange)
	c := &s.pending.calls[len(s.pending.calls)-1]
	s.pending.columns = append(s.pending.columns, args[2:]...)
	if _, _, err := ends(args[2:]); err != nil && c.err == nil {
		s.drop(c, err)
	}
}

func (s *Session) answerGetRange(c *call) bool {
	r := s.result(c.first)
	if r.Err != nil {
		s.refuse(r.Err)
		return true
	}
	start, end, _ := ends(s.pending.columns[c.column:])
	s.w.Bulk(part(s.text(c, r.Row), start, end))
	return true
}

func ends(words [][]byte) (start, end int64, err error) {
	if start, err = integer(words[0]); err == nil {
		end, err = integer(words[1])
	}
	if err != nil {
		return 0, 0, errNoInteger
	}
	return start, end, nil
}

// part cuts text as Redis does.
func part(text []byte, start, end int64) []byte {
	n := int64(len(text))
	if start < 0 && end < 0 && start > end {
		return nil
	}
	if start < 0 {
		start = max(0, start+n)
	}
	if end < 0 {
		end = max(0, end+n)
	}
	end = min(end, n-1)
	if start > end {
		return nil
	}
	return text[start : end+1]
}

// text is what GET gives of a row, empty where that is nothing.
func (s *Session) text(c *call, r row.Row) []byte {
	if !r.Exists() {
		return nil
	}
	if s.pending.requests[c.first].Key.UseCase.Mapping.Shape() == row.WholeRow {
		return r.AppendJSON(nil)
	}
	_, text := r.Column(0)
	return text
}
