package command

import (
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func (s *Session) get(args [][]byte) {
	s.readKeys(args[1:], (*Session).answerGet)
}

func (s *Session) mget(args [][]byte) {
	s.readKeys(args[1:], (*Session).answerMGet)
}

func (s *Session) exists(args [][]byte) {
	s.readKeys(args[1:], (*Session).answerExists)
}

func (s *Session) hget(args [][]byte) {
	s.readHash(args, (*Session).answerHGet)
}

func (s *Session) hmget(args [][]byte) {
	s.readHash(args, (*Session).answerHMGet)
}

func (s *Session) hgetall(args [][]byte) {
	s.readHash(args, (*Session).answerHGetAll)
}

// readKeys gathers a read of several keys.
func (s *Session) readKeys(keys [][]byte, answer func(*Session, *call) bool) {
	c := s.call(reads, answer)
	for _, text := range keys {
		key, f, err := s.wish(text)
		if err == nil {
			err = s.read(c, key, f)
		}
		if err != nil {
			s.drop(c, err)
			return
		}
	}
}

// readHash gathers a read of columns of one row: command, key, names.
func (s *Session) readHash(args [][]byte, answer func(*Session, *call) bool) {
	c := s.call(reads, answer)
	key, f, err := s.wish(args[1])
	if err == nil && key.UseCase.Mapping.Shape() != row.WholeRow {
		err = errWrongType
	}
	if err == nil {
		err = s.read(c, key, f)
	}
	if err != nil {
		s.drop(c, err)
		return
	}
	s.pending.columns = append(s.pending.columns, args[2:]...)
	c.wanted = len(args) - 2
}

func (s *Session) answerGet(c *call) bool {
	r := s.result(c.first)
	if r.Err != nil {
		s.refuse(r.Err)
		return true
	}
	s.value(s.pending.requests[c.first].Key.UseCase, r.Row)
	return true
}

// answerMGet lets go of each row once it is written: the reply may be far
// larger than what is kept of it at any one time.
func (s *Session) answerMGet(c *call) bool {
	if c.progress == 0 {
		if err := s.failure(c); err != nil {
			s.refuse(err)
			return true
		}
		s.w.Array(c.n)
	}
	for ; c.progress < c.n; c.progress++ {
		// Not before the first element: no progress is where the array begins.
		if c.progress > 0 && len(s.w.Out) >= s.all.opts.FlushBytes {
			return false
		}
		i := c.first + c.progress
		if s.proof && c.n > 1 {
			s.attribute(s.result(i))
		}
		s.value(s.pending.requests[i].Key.UseCase, s.result(i).Row)
		s.pending.results[i].Row = row.Row{}
	}
	return true
}

func (s *Session) answerExists(c *call) bool {
	if err := s.failure(c); err != nil {
		s.refuse(err)
		return true
	}
	found := int64(0)
	for i := range c.n {
		if s.result(c.first + i).Row.Exists() {
			found++
		}
	}
	s.w.Int(found)
	return true
}

func (s *Session) answerHGet(c *call) bool {
	r := s.result(c.first)
	if r.Err != nil {
		s.refuse(r.Err)
		return true
	}
	s.column(r.Row, s.pending.columns[c.column])
	return true
}

// answerHMGet stops where Replies is full: one column may be asked for many
// times.
func (s *Session) answerHMGet(c *call) bool {
	r := s.result(c.first)
	if r.Err != nil {
		s.refuse(r.Err)
		return true
	}
	if c.progress == 0 {
		s.w.Array(c.wanted)
	}
	for ; c.progress < c.wanted; c.progress++ {
		if c.progress > 0 && len(s.w.Out) >= s.all.opts.FlushBytes {
			return false
		}
		s.column(r.Row, s.pending.columns[c.column+c.progress])
	}
	return true
}

func (s *Session) answerHGetAll(c *call) bool {
	r := s.result(c.first)
	if r.Err != nil {
		s.refuse(r.Err)
		return true
	}
	s.w.Map(fields(r.Row))
	for f := range r.Row.Columns() {
		if f.Kind != row.Null {
			s.w.BulkString(f.Name)
			s.w.Bulk(f.Value)
		}
	}
	return true
}

// value writes what GET gives of a row.
func (s *Session) value(u *proxy.UseCase, r row.Row) {
	if !r.Exists() {
		s.w.Null()
		return
	}
	if u.Mapping.Shape() == row.WholeRow {
		start := len(s.w.Out)
		s.w.Out = r.AppendJSON(s.w.Out)
		s.w.BulkFrom(start)
		return
	}
	kind, text := r.Column(0)
	s.textOrNull(kind, text)
}

// column writes the column of that name; there may be none.
func (s *Session) column(r row.Row, name []byte) {
	kind, text, _ := r.Lookup(name)
	s.textOrNull(kind, text)
}

func (s *Session) textOrNull(kind row.Kind, text []byte) {
	if kind == row.Null {
		s.w.Null()
		return
	}
	s.w.Bulk(text)
}
