package command

import (
	"bytes"
	"slices"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// maxFields bounds the fields of one write, each of which is looked for among
// the others: no database has tables with more columns.
const maxFields = 2000

// hset: HSET key field value [field value …] changes these columns of the row,
// or inserts one with them. It answers how many of them held nothing before.
func (s *Session) hset(args [][]byte) {
	s.putRow(args, "hset", proxy.Write{Old: true}, (*Session).answerHSet)
}

// hmset is HSET with an older reply.
func (s *Session) hmset(args [][]byte) {
	s.putRow(args, "hmset", proxy.Write{}, (*Session).answerSet)
}

func (s *Session) putRow(args [][]byte, name string, w proxy.Write, answer func(*Session, *call) bool) {
	c := s.call(writes, answer)
	key, err := s.rowKey(args[1])
	switch {
	case len(args)%2 != 0:
		err = refusal(wrongArity(name))
	case err != nil:
	case len(args) > 2+2*maxFields:
		err = errFields
	}
	if err != nil {
		s.drop(c, err)
		return
	}
	first := len(s.pending.fields)
	for pairs := args[2:]; len(pairs) > 0; pairs = pairs[2:] {
		s.addField(c, first, row.Field{Name: string(pairs[0]), Kind: row.Bytes, Value: pairs[1]})
	}
	if err = s.pending.omitKey(key, first); err != nil {
		s.drop(c, err)
		return
	}
	w.Key, w.Fields = key, slices.Clip(s.pending.fields[first:])
	s.write(c, w)
}

// hdel: HDEL key field [field …] makes these columns NULL. It answers how many
// of them held something before.
func (s *Session) hdel(args [][]byte) {
	c := s.call(writes, (*Session).answerHDel)
	key, err := s.rowKey(args[1])
	if err == nil && len(args) > 2+maxFields {
		err = errFields
	}
	if err != nil {
		s.drop(c, err)
		return
	}
	first := len(s.pending.fields)
	for _, name := range args[2:] {
		s.addField(c, first, row.Field{Name: string(name), Kind: row.Null})
	}
	s.write(c, proxy.Write{Key: key, Fields: slices.Clip(s.pending.fields[first:]), If: proxy.IfPresent, Old: true})
}

// rowKey resolves the key of a row to write columns of.
func (s *Session) rowKey(text []byte) (proxy.Key, error) {
	key, err := s.key(text)
	if err == nil && key.UseCase.Mapping.Shape() != row.WholeRow {
		err = errWrongType
	}
	return key, err
}

// addField adds one field to those of a call, which begin at first. Of a field
// that is given twice the later value holds. Its name is kept beside it, for
// the answer.
func (s *Session) addField(c *call, first int, f row.Field) {
	p := &s.pending
	if i := slices.IndexFunc(p.fields[first:], func(g row.Field) bool { return g.Name == f.Name }); i >= 0 {
		p.fields[first+i] = f
		return
	}
	p.fields = append(p.fields, f)
	p.columns = append(p.columns, []byte(f.Name))
	c.wanted++
}

// omitKey takes out the columns that the key has, as programs send that save
// an object with all its fields. Another value than the key's would be another
// row: the source refuses it.
func (p *gathered) omitKey(key proxy.Key, first int) error {
	m := key.UseCase.Mapping
	var parts [][]byte
	for i, col := range m.Columns {
		at := slices.IndexFunc(p.fields[first:], func(f row.Field) bool { return f.Name == col.Name })
		if at < 0 {
			continue
		}
		if parts == nil {
			var err error
			if parts, err = m.Parts(key.Text); err != nil {
				return &proxy.BadKeyError{Reason: err.Error()}
			}
		}
		if bytes.Equal(p.fields[first+at].Value, parts[i]) {
			p.fields = slices.Delete(p.fields, first+at, first+at+1)
		}
	}
	return nil
}

func (s *Session) answerHSet(c *call) bool {
	s.answerFields(c, func(held bool) bool { return !held })
	return true
}

func (s *Session) answerHDel(c *call) bool {
	s.answerFields(c, func(held bool) bool { return held })
	return true
}

// answerFields counts the columns of a write by whether they held something
// before.
func (s *Session) answerFields(c *call, counts func(held bool) bool) {
	w := &s.pending.written[c.first]
	if w.Err != nil {
		s.refuse(w.Err)
		return
	}
	n := int64(0)
	for _, name := range s.pending.columns[c.column : c.column+c.wanted] {
		kind, _, _ := w.Old.Lookup(name)
		if counts(kind != row.Null) {
			n++
		}
	}
	s.w.Int(n)
}
