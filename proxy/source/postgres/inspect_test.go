package postgres

import (
	"testing"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

func TestVerifiedConnections(t *testing.T) {
	for mode, want := range map[string]bool{"disable": false, "require": false, "verify-ca": true, "verify-full": true} {
		c, err := Config("postgres://freshet@db.example/shop?sslmode=" + mode)
		if err != nil {
			t.Fatal(err)
		}
		if got := verified(c); got != want {
			t.Errorf("sslmode=%s: %v", mode, got)
		}
	}
}

// A table is told apart from what else is wrong with it: what an Inspected
// shows by itself is set right before anything else is asked of it.
func TestMendedTables(t *testing.T) {
	table := &Table{
		Name: Name{"public", "t"}, Kind: 'r',
		Columns: []Column{{Name: "id", Type: typeInt4, NotNull: true}, {Name: "sku", Type: typeText, NotNull: true, Bytewise: true}},
		Unique:  []Index{{Name: "pk", Columns: []string{"id"}, Primary: true, Usable: true}},
		Leaves:  []Leaf{{Name: Name{"public", "t"}, Kind: 'r', Identity: []string{"id"}}},
	}
	if _, err := fit(row.Spec{Name: "u"}, table); err == nil {
		t.Error("a table that is unlogged, and that nobody may read, fits")
	}
	if _, err := fit(row.Spec{Name: "u"}, table.mended()); err != nil {
		t.Errorf("set right: %v", err)
	}
	if _, err := fit(row.Spec{Name: "u", Key: []string{"sku"}}, table.mended()); err == nil {
		t.Error("a key that is not unique fits")
	}
	if table.Readable || table.Leaves[0].Logged {
		t.Error("the table itself was changed")
	}
}

func TestUnidentifiedLeaves(t *testing.T) {
	table := &Table{
		Unique: []Index{{Columns: []string{"id"}, Primary: true}},
		Leaves: []Leaf{{Name: Name{"s", "full"}, Full: true}, {Name: Name{"s", "key"}, Identity: []string{"id"}}, {Name: Name{"s", "both"}, Identity: []string{"sku", "id"}}, {Name: Name{"s", "none"}}},
	}
	for _, c := range []struct {
		key  []string
		want int
	}{{[]string{"id"}, 1}, {[]string{"sku"}, 2}, {[]string{"sku", "more"}, 3}} {
		if got := table.Unidentified(c.key); len(got) != c.want {
			t.Errorf("%v: %v", c.key, got)
		}
	}
}
