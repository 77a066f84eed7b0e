package command

import (
	"strings"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// set: SET key value [NX | XX] [GET].
func (s *Session) set(args [][]byte) {
	w, err := setOptions(args[3:])
	answer := (*Session).answerSet
	if w.Old {
		answer = (*Session).answerOld
	}
	s.putColumn(args, w, err, answer)
}

func (s *Session) setNX(args [][]byte) {
	s.putColumn(args, proxy.Write{If: proxy.IfAbsent}, nil, (*Session).answerDone)
}

func (s *Session) getSet(args [][]byte) {
	s.putColumn(args, proxy.Write{Old: true}, nil, (*Session).answerOld)
}

// putColumn gathers a write of one column: command, key, value. err is what is
// wrong with the rest of its words.
func (s *Session) putColumn(args [][]byte, w proxy.Write, err error, answer func(*Session, *call) bool) {
	c := s.call(writes, answer)
	key, keyErr := s.columnKey(args[1])
	if keyErr != nil {
		err = keyErr
	}
	if err != nil {
		s.drop(c, err)
		return
	}
	w.Key, w.Fields = key, s.pending.field(key.UseCase.Mapping.Column, args[2])
	s.write(c, w)
}

// mset writes all columns or none.
func (s *Session) mset(args [][]byte) {
	c := s.call(writes, (*Session).answerSet)
	pairs := args[1:]
	if len(pairs)%2 != 0 {
		s.drop(c, refusal(wrongArity("mset")))
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		key, err := s.columnKey(pairs[i])
		if err != nil {
			s.drop(c, err)
			return
		}
		s.write(c, proxy.Write{Key: key, Fields: s.pending.field(key.UseCase.Mapping.Column, pairs[i+1]), Joined: i > 0})
	}
}

// columnKey resolves the key of a column to write.
func (s *Session) columnKey(text []byte) (proxy.Key, error) {
	key, err := s.key(text)
	if err == nil && key.UseCase.Mapping.Shape() != row.OneColumn {
		err = errSetRow
	}
	return key, err
}

// field is the one field a SET writes, in memory that outlasts its write.
func (p *gathered) field(name string, value []byte) []row.Field {
	p.fields = append(p.fields, row.Field{Name: name, Kind: row.Bytes, Value: value})
	last := len(p.fields) - 1
	return p.fields[last : last+1 : last+1]
}

// setOptions parses what stands behind the value of a SET.
func setOptions(options [][]byte) (w proxy.Write, err error) {
	expires := false
	for len(options) > 0 {
		word := strings.ToLower(string(options[0]))
		options = options[1:]
		switch {
		case word == "nx" && w.If != proxy.IfPresent:
			w.If = proxy.IfAbsent
		case word == "xx" && w.If != proxy.IfAbsent:
			w.If = proxy.IfPresent
		case word == "get":
			w.Old = true
		case word == "keepttl" && !expires:
			expires = true
		case (word == "ex" || word == "px" || word == "exat" || word == "pxat") && !expires && len(options) > 0:
			expires = true
			options = options[1:]
		default:
			return w, errSyntax
		}
	}
	if expires {
		return w, errExpiry
	}
	return w, nil
}

func (s *Session) answerSet(c *call) bool {
	switch w := &s.pending.written[c.first]; {
	case w.Err != nil:
		s.refuse(w.Err)
	case !w.Done && s.pending.writes[c.first].If != proxy.Always:
		s.w.Null()
	default:
		s.w.Simple("OK")
	}
	return true
}

// answerDone answers whether the write was carried out.
func (s *Session) answerDone(c *call) bool {
	switch w := &s.pending.written[c.first]; {
	case w.Err != nil:
		s.refuse(w.Err)
	case w.Done:
		s.w.Int(1)
	default:
		s.w.Int(0)
	}
	return true
}

// answerOld answers the value that the write has found.
func (s *Session) answerOld(c *call) bool {
	w := &s.pending.written[c.first]
	if w.Err != nil {
		s.refuse(w.Err)
		return true
	}
	s.value(s.pending.writes[c.first].Key.UseCase, w.Old)
	return true
}

func (s *Session) getDel(args [][]byte) {
	c := s.call(writes, (*Session).answerOld)
	key, err := s.key(args[1])
	if err == nil && key.UseCase.Mapping.Shape() != row.OneColumn {
		err = errWrongType
	}
	if err != nil {
		s.drop(c, err)
		return
	}
	s.write(c, proxy.Write{Key: key, Op: proxy.Delete, Old: true})
}

func (s *Session) del(args [][]byte) {
	c := s.call(writes, (*Session).answerDel)
	for _, text := range args[1:] {
		key, err := s.key(text)
		if err != nil {
			s.drop(c, err)
			return
		}
		s.write(c, proxy.Write{Key: key, Op: proxy.Delete})
	}
}

// answerDel answers the first error, if there is one, though other keys of the
// command may have been deleted: each write stands alone.
func (s *Session) answerDel(c *call) bool {
	deleted := int64(0)
	for _, w := range s.pending.written[c.first : c.first+c.n] {
		if w.Err != nil {
			s.refuse(w.Err)
			return true
		}
		if w.Done {
			deleted++
		}
	}
	s.w.Int(deleted)
	return true
}
