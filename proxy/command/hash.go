package command

import "github.com/freshet-cache/freshet/proxy/source/row"

// A column that is NULL is a field that is not there.

func (s *Session) hkeys(args [][]byte) { s.readHash(args, (*Session).answerHKeys) }

func (s *Session) hvals(args [][]byte) { s.readHash(args, (*Session).answerHVals) }

func (s *Session) hlen(args [][]byte) { s.readHash(args, (*Session).answerHLen) }

func (s *Session) hexists(args [][]byte) { s.readHash(args, (*Session).answerHExists) }

func (s *Session) hstrlen(args [][]byte) { s.readHash(args, (*Session).answerHStrlen) }

func (s *Session) answerHKeys(c *call) bool {
	return s.eachField(c, func(f row.Field) { s.w.BulkString(f.Name) })
}

func (s *Session) answerHVals(c *call) bool {
	return s.eachField(c, func(f row.Field) { s.w.Bulk(f.Value) })
}

// eachField answers an array of what write makes of each field.
func (s *Session) eachField(c *call, write func(row.Field)) bool {
	r := s.result(c.first)
	if r.Err != nil {
		s.refuse(r.Err)
		return true
	}
	s.w.Array(fields(r.Row))
	for f := range r.Row.Columns() {
		if f.Kind != row.Null {
			write(f)
		}
	}
	return true
}

func (s *Session) answerHLen(c *call) bool {
	r := s.result(c.first)
	if r.Err != nil {
		s.refuse(r.Err)
		return true
	}
	s.w.Int(int64(fields(r.Row)))
	return true
}

// fields counts the columns that are not NULL.
func fields(r row.Row) int {
	n := 0
	for f := range r.Columns() {
		if f.Kind != row.Null {
			n++
		}
	}
	return n
}

func (s *Session) answerHExists(c *call) bool {
	return s.ofField(c, func(kind row.Kind, _ []byte) int64 { return bit(kind != row.Null) })
}

func (s *Session) answerHStrlen(c *call) bool {
	return s.ofField(c, func(_ row.Kind, text []byte) int64 { return int64(len(text)) })
}

// ofField answers a number that is made of the one field asked for.
func (s *Session) ofField(c *call, number func(row.Kind, []byte) int64) bool {
	r := s.result(c.first)
	if r.Err != nil {
		s.refuse(r.Err)
		return true
	}
	kind, text, _ := r.Row.Lookup(s.pending.columns[c.column])
	s.w.Int(number(kind, text))
	return true
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// hscan: HSCAN key cursor [MATCH pattern] [COUNT count]. A row is one page.
func (s *Session) hscan(args [][]byte) {
	s.readHash([][]byte{args[0], args[1]}, (*Session).answerHScan)
	c := &s.pending.calls[len(s.pending.calls)-1]
	_, err := parseCursor(args[2])
	f := filter{}
	if err == nil {
		f, err = scanOptions(args[3:], false)
	}
	if err != nil && c.err == nil {
		s.drop(c, err)
	}
	if f.match != nil {
		s.pending.columns = append(s.pending.columns, f.match)
		c.wanted = 1
	}
}

func (s *Session) answerHScan(c *call) bool {
	r := s.result(c.first)
	if r.Err != nil {
		s.refuse(r.Err)
		return true
	}
	f := filter{}
	if c.wanted > 0 {
		f.match = s.pending.columns[c.column]
	}
	var found []row.Field
	for col := range r.Row.Columns() {
		if col.Kind != row.Null && f.takes([]byte(col.Name)) {
			found = append(found, col)
		}
	}
	s.w.Array(2)
	s.w.BulkString("0")
	s.w.Array(2 * len(found))
	for _, col := range found {
		s.w.BulkString(col.Name)
		s.w.Bulk(col.Value)
	}
	return true
}
