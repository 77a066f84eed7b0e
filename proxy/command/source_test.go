package command

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// fake is a Source and an Inspector over a map, and remembers what was asked.
type fake struct {
	rows   map[string]row.Row
	tokens proxy.Time
	errs   map[string]error // by key text
	origin proxy.Origin
	upper  proxy.Time // of every result; a write raises it by its token
	log    []string   // one line per call of Load, Apply, and the inspector
	last   []proxy.Request
	untold []string // what the inspector answers
}

var (
	value = &row.Schema{Columns: []string{"v"}}
	user  = &row.Schema{Columns: []string{"id", "name", "admin", "note"}}
)

func newFake() *fake {
	s := &fake{rows: map[string]row.Row{}, errs: map[string]error{}, origin: proxy.FromCache}
	s.rows["users:42"] = encode(user, "42", "Ann \"A\"", "true", "")
	s.rows["column:null"] = encode(value, "")
	return s
}

// encode makes a row: "" is NULL.
func encode(s *row.Schema, values ...string) row.Row {
	kinds := map[string]row.Kind{"id": row.Number, "admin": row.Bool}
	fields := make([]row.Field, len(values))
	for i, v := range values {
		fields[i] = row.Field{Name: s.Columns[i], Kind: row.Text, Value: []byte(v)}
		if k, ok := kinds[s.Columns[i]]; ok {
			fields[i].Kind = k
		}
		if v == "" {
			fields[i] = row.Field{Name: s.Columns[i], Kind: row.Null}
		}
	}
	r, ok := row.Encode(s, fields)
	if !ok {
		panic("test row does not fit its schema")
	}
	return r
}

func catalog(t testing.TB) *proxy.Catalog {
	t.Helper()
	text := []row.KeyColumn{{Name: "k", Kind: row.KeyText}}
	c, err := proxy.NewCatalog(
		&row.Mapping{Spec: row.Spec{Name: "key", Table: "key", Column: "v"}, Columns: text},
		&row.Mapping{Spec: row.Spec{Name: "column", Table: "c", Column: "v"}, Columns: text},
		&row.Mapping{Spec: row.Spec{Name: "users", Table: "users"}, Columns: []row.KeyColumn{{Name: "id", Kind: row.KeyInt}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *fake) Load(_ context.Context, reqs []proxy.Request, results []proxy.Result) {
	keys := make([]string, len(reqs))
	s.last = append([]proxy.Request(nil), reqs...)
	for i, r := range reqs {
		keys[i] = string(r.Key.Text)
		results[i] = proxy.Result{
			Row: s.rows[keys[i]], Err: s.errs[keys[i]], Origin: s.origin,
			AsOf: 1_700_000_000_000_000_001, Upper: s.upper, Position: proxy.Position{Commit: 7, Seq: 2},
		}
	}
	s.log = append(s.log, "load "+strings.Join(keys, " "))
}

func (s *fake) Apply(_ context.Context, ws []proxy.Write, written []proxy.Written) {
	keys := make([]string, len(ws))
	for i, w := range ws {
		keys[i] = string(w.Key.Text)
		if w.Joined {
			keys[i] = "+" + keys[i]
		}
		if written[i].Err = s.errs[string(w.Key.Text)]; written[i].Err != nil {
			continue
		}
		s.tokens++
		written[i].Token = s.tokens
		old := s.rows[string(w.Key.Text)]
		if w.Old {
			written[i].Old = old
		}
		switch {
		case w.If == proxy.IfAbsent && old.Exists(), w.If == proxy.IfPresent && !old.Exists():
			continue
		case w.Op == proxy.Delete:
			written[i].Done = old.Exists()
			delete(s.rows, string(w.Key.Text))
		default:
			written[i].Done = true
			s.rows[string(w.Key.Text)] = put(w, old)
		}
	}
	s.log = append(s.log, "apply "+strings.Join(keys, " "))
}

// put is the row that a write leaves of an old one.
func put(w proxy.Write, old row.Row) row.Row {
	schema := value
	if w.Key.UseCase.Name == "users" {
		schema = user
	}
	fields := make([]row.Field, len(schema.Columns))
	for i, name := range schema.Columns {
		fields[i] = row.Field{Name: name}
		fields[i].Kind, fields[i].Value, _ = old.Lookup([]byte(name))
		if name == "id" {
			fields[i] = row.Field{Name: name, Kind: row.Number, Value: bytes.TrimPrefix(w.Key.Text, []byte("users:"))}
		}
		for _, f := range w.Fields {
			if f.Name == name {
				fields[i] = f
			}
		}
	}
	r, ok := row.Encode(schema, fields)
	if !ok {
		panic("test row does not fit its schema")
	}
	return r
}

func (s *fake) Explain(key proxy.Key) [][2]string {
	return [][2]string{{"key", string(key.Text)}, {"entry", "absent"}}
}

func (s *fake) Invalidate(key proxy.Key) []string {
	s.log = append(s.log, "invalidate "+string(key.Text))
	return s.untold
}

func (s *fake) Void(u *proxy.UseCase) []string {
	s.log = append(s.log, "void "+u.Name)
	return s.untold
}

func (s *fake) Lag() [][2]string { return [][2]string{{"watermark", "never"}} }

func newSession(t testing.TB, s *fake) *Session {
	return New(catalog(t), s, s, Options{}).NewSession()
}

// drive carries a stream to a session in pieces of the given sizes, in turn,
// as a server would, and returns all replies and how the connection ended.
func drive(s *Session, stream string, sizes ...int) (replies string, end Next) {
	var buf []byte
	var out bytes.Buffer
	for i := 0; stream != ""; i++ {
		n := min(max(1, sizes[i%len(sizes)]), len(stream))
		buf, stream = append(bytes.Clone(buf), stream[:n]...), stream[n:]
		for next := Again; next != Read; {
			var n int
			n, next = s.Step(context.Background(), buf)
			buf = buf[n:]
			if next == Drop {
				return out.String(), Drop
			}
			out.Write(s.Replies())
			if next == Close {
				return out.String(), Close
			}
		}
	}
	return out.String(), Read
}

func do(s *Session, stream string) string {
	replies, _ := drive(s, stream, len(stream))
	return replies
}

func multibulk(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}
