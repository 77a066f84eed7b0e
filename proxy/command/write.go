package command

import (
	"strings"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func (s *Session) set(args [][]byte) {
	c := s.call(writes, (*Session).answerSet)
	key, err := s.key(args[1])
	switch {
	case err != nil:
	case len(args) > 3:
		err = setOption(args[3])
	case key.UseCase.Mapping.Shape() != row.OneColumn:
		err = errSetRow
	}
	if err != nil {
		s.drop(c, err)
		return
	}
	fields := s.pending.field(key.UseCase.Mapping.Column, args[2])
	s.write(c, proxy.Write{Key: key, Op: proxy.Put, Fields: fields})
}

// field is the one field a SET writes, in memory that outlasts its write.
func (p *gathered) field(name string, value []byte) []row.Field {
	p.fields = append(p.fields, row.Field{Name: name, Kind: row.Bytes, Value: value})
	last := len(p.fields) - 1
	return p.fields[last : last+1 : last+1]
}

// setOption says why SET does not take an option.
func setOption(option []byte) error {
	switch strings.ToLower(string(option)) {
	case "ex", "px", "exat", "pxat", "keepttl":
		return errExpiry
	case "nx", "xx", "get":
		return errCondition
	}
	return errSyntax
}

func (s *Session) answerSet(c *call) bool {
	if err := s.pending.written[c.first].Err; err != nil {
		s.refuse(err)
		return true
	}
	s.w.Simple("OK")
	return true
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
