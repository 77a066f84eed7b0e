package postgres

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pglogrepl"

	"github.com/freshet-cache/freshet/proxy"
)

var update = flag.Bool("update", false, "write the golden files anew")

// captured is what PostgreSQL 15 sent, a message a line.
func captured(tb testing.TB) [][]byte {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "pgoutput.hex"))
	if err != nil {
		tb.Fatal(err)
	}
	var out [][]byte
	for line := range strings.Lines(string(text)) {
		b, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func TestDecodesWhatPostgreSQLSends(t *testing.T) {
	var b strings.Builder
	for _, raw := range captured(t) {
		m, err := decode(raw)
		if err != nil {
			t.Errorf("% x: %v", raw, err)
		}
		switch m := m.(type) {
		case nil:
			fmt.Fprintf(&b, "%c\n", raw[0])
		default:
			fmt.Fprintf(&b, "%c %s\n", raw[0], strings.TrimPrefix(fmt.Sprintf("%+v", m), "&"))
		}
	}
	path := filepath.Join("testdata", "pgoutput.txt")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("decoded\n%s\nwant\n%s", b.String(), want)
	}
}

func TestRefusesWhatIsCutShort(t *testing.T) {
	for _, raw := range captured(t) {
		if kind := raw[0]; kind == kindCommit || kind == kindOrigin || kind == kindType {
			continue // nothing of it is read
		}
		for n := range raw {
			if m, err := decode(raw[:n]); err == nil {
				t.Errorf("% x is %+v", raw[:n], m)
			}
		}
		if m, err := decode(append(bytes.Clone(raw), 0)); err == nil {
			t.Errorf("% x and a byte is %+v", raw, m)
		}
	}
}

// The decoder agrees with pglogrepl's wherever it accepts anything.
func FuzzDecode(f *testing.F) {
	for _, raw := range captured(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := decode(raw)
		if err != nil || m == nil {
			return
		}
		twin, err := parseTwin(raw)
		if err != nil {
			if len(raw) > 9 { // it refuses rows and truncations of nothing by their length
				t.Fatalf("%+v, and the twin says %v", m, err)
			}
			return
		}
		if got, want := fmt.Sprintf("%+v", m), fmt.Sprintf("%+v", twin); got != want {
			t.Fatalf("\n got %s\nwant %s", got, want)
		}
	})
}

// parseTwin gives what pglogrepl reads the same form. It panics on some inputs.
func parseTwin(raw []byte) (m any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	parsed, err := pglogrepl.Parse(raw)
	if err != nil {
		return nil, err
	}
	switch p := parsed.(type) {
	case *pglogrepl.BeginMessage:
		return &begin{commit: uint64(p.FinalLSN), time: proxy.Time(p.CommitTime.UnixNano()), xid: p.Xid}, nil
	case *pglogrepl.RelationMessage:
		out := &relation{id: p.RelationID, schema: p.Namespace, table: p.RelationName, identity: p.ReplicaIdentity}
		for _, c := range p.Columns {
			out.columns = append(out.columns, relationColumn{c.Flags&1 != 0, c.Name, c.DataType, c.TypeModifier})
		}
		return out, nil
	case *pglogrepl.InsertMessage:
		return &rowChange{op: kindInsert, relation: p.RelationID, new: tuple(p.Tuple)}, nil
	case *pglogrepl.UpdateMessage:
		return &rowChange{op: kindUpdate, relation: p.RelationID, oldKind: p.OldTupleType, old: tuple(p.OldTuple), new: tuple(p.NewTuple)}, nil
	case *pglogrepl.DeleteMessage:
		return &rowChange{op: kindDelete, relation: p.RelationID, oldKind: p.OldTupleType, old: tuple(p.OldTuple)}, nil
	case *pglogrepl.TruncateMessage:
		return &truncation{relations: p.RelationIDs}, nil
	case *pglogrepl.LogicalDecodingMessage:
		return &logical{transactional: p.Transactional, prefix: p.Prefix, content: p.Content}, nil
	}
	return nil, fmt.Errorf("a message of type %T", parsed)
}

func tuple(t *pglogrepl.TupleData) []datum {
	if t == nil {
		return nil
	}
	out := []datum{}
	for _, c := range t.Columns {
		out = append(out, datum{kind: c.DataType, text: c.Data})
	}
	return out
}

// String makes the golden file legible.
func (d datum) String() string { return fmt.Sprintf("%c%q", d.kind, d.text) }
