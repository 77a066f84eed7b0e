package debezium

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

var update = flag.Bool("update", false, "write what the fixtures mean, instead of comparing it")

func mapping(name, table string, key ...row.KeyColumn) *row.Mapping {
	return &row.Mapping{Spec: row.Spec{Name: name, Table: table}, Columns: key}
}

func key(name string, kind row.KeyKind) row.KeyColumn { return row.KeyColumn{Name: name, Kind: kind} }

// catalogOf is the use cases over the tables of the fixtures.
func catalogOf(t testing.TB) *proxy.Catalog {
	t.Helper()
	c, err := proxy.NewCatalog(
		mapping("user", "users", key("id", row.KeyInt)),
		mapping("order", "orders", key("region", row.KeyText), key("id", row.KeyInt)),
		mapping("file", "files", key("digest", row.KeyBytes)),
		mapping("thing", "things", key("id", row.KeyUUID)),
		mapping("code", "things", key("code", row.KeyText)),
		mapping("odd", `My Schema."Odd.Name"`, key("Id", row.KeyInt)),
	)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newDecoder(t testing.TB, unavailable string) *Decoder {
	t.Helper()
	return NewDecoder(Options{Catalog: catalogOf(t), CheckpointTable: "freshet_checkpoint", Unavailable: unavailable})
}

// fixture is one record as a connector has shipped it.
type fixture struct {
	Topic      string
	Key, Value json.RawMessage
}

func (f *fixture) key() []byte { return orNil(f.Key) }

func (f *fixture) value() []byte { return orNil(f.Value) }

// orNil gives what has no bytes in Kafka none here.
func orNil(raw []byte) []byte {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

func fixturesOf(t testing.TB, path string) []fixture {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []fixture
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f fixture
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, f)
	}
	return out
}

// connectors are those that the fixtures were captured from, with the
// placeholder of each.
var connectors = map[string]string{"strings": "__missing"}

func eachConnector(t *testing.T, f func(t *testing.T, name, path, unavailable string)) {
	paths, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		unavailable := connectors[name]
		if unavailable == "" {
			unavailable = "__debezium_unavailable_value"
		}
		t.Run(name, func(t *testing.T) { f(t, name, path, unavailable) })
	}
}

// What each record of each connector means to the cache is written down, and
// was read by a person.
func TestFixtures(t *testing.T) {
	eachConnector(t, func(t *testing.T, name, path, unavailable string) {
		d := newDecoder(t, unavailable)
		var out bytes.Buffer
		for _, f := range fixturesOf(t, path) {
			m, err := d.Decode(f.Topic, f.key(), f.value())
			fmt.Fprintf(&out, "%-28s %s\n", f.Topic, meaning(d.options.Catalog, m, err))
		}
		golden := strings.TrimSuffix(path, ".jsonl") + ".txt"
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("the fixtures mean something else than %s says (-update writes it):\n%s", golden, out.Bytes())
		}
	})
}

// meaning is what an applier makes of a record: the keys that are dropped, and
// the use cases that are void.
func meaning(c *proxy.Catalog, m *Message, err error) string {
	var fault *DecodeError
	switch {
	case errors.As(err, &fault):
		return "void all of " + fault.Table + ", " + err.Error()
	case err != nil:
		return "not a DecodeError: " + err.Error()
	case m.Mark != nil:
		return fmt.Sprintf("checkpoint %+v", *m.Mark)
	case m.Change == nil:
		return "-"
	}
	words := []string{fmt.Sprintf("tx %d at %d:", m.Tx, m.Change.Commit)}
	for _, u := range c.OnTable(m.Change.Table) {
		words = append(words, dropped(u, m.Change)...)
	}
	return strings.Join(words, " ")
}

func dropped(u *proxy.UseCase, c *event.Change) (out []string) {
	if c.Op >= event.Truncate {
		return []string{"void " + u.Name}
	}
	for _, fields := range [][]row.Field{c.Before, c.After} {
		if fields == nil {
			continue
		}
		text, ok := u.Mapping.Key(fields)
		if !ok {
			return []string{"void " + u.Name}
		}
		if quoted := strconv.Quote(string(text)); len(out) == 0 || out[0] != quoted {
			out = append(out, quoted)
		}
	}
	return out
}
