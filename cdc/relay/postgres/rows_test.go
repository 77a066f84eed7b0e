package postgres

import (
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// What each replica identity tells of a row, and where its changes go.
func TestRows(t *testing.T) {
	id := relationColumn{name: "id", typ: intType, modifier: -1}
	name := relationColumn{name: "name", typ: textType, modifier: -1}
	key := func(c relationColumn) relationColumn { c.key = true; return c }
	byKey := relationOfShape(7, "users", 'd', key(id), name)
	full := relationOfShape(7, "users", 'f', key(id), key(name))
	byName := relationOfShape(7, "users", 'i', id, key(name))
	none := relationOfShape(7, "users", 'n', id, name)
	for _, test := range []struct {
		name     string
		relation []byte
		rows     [][]byte
		want     []string
	}{
		{"insert", byKey, [][]byte{insertOf("1", "Ada")}, []string{"110/1 insert → id=1 name=Ada, last"}},
		{"insert, twice", byKey, [][]byte{insertOf("1", "Ada"), insertOf("2", "")}, []string{"110/1 insert → id=1 name=Ada, last", "110/2 insert → id=2 name=, last"}},
		{"update", byKey, [][]byte{updateOf("1", "Bob")}, []string{"110/1 update id=1 → id=1 name=Bob, last"}},
		{"update, twice", byKey, [][]byte{updateOf("1", "Bob"), updateOf("1", "Eve")}, []string{"110/1 update id=1 → id=1 name=Bob", "110/2 update id=1 → id=1 name=Eve, last"}},
		{"update, then delete", byKey, [][]byte{updateOf("1", "Bob"), rowOf(kindDelete, 'K', []string{"1", ""})}, []string{"110/1 update id=1 → id=1 name=Bob", "110/2 delete id=1, last"}},
		{"unchanged and not told", byKey, [][]byte{updateOf("1", "?")}, []string{"110/1 update id=1 → id=1 name=?, last"}},
		{"another key", byKey, [][]byte{rowOf(kindUpdate, 'K', []string{"1", ""}, 'N', []string{"2", "?"})}, []string{"110/1 delete id=1, last", "110/1+1 insert → id=2 name=?, last"}},
		{"another key, and back", byKey, [][]byte{rowOf(kindUpdate, 'K', []string{"1", ""}, 'N', []string{"2", "x"}), rowOf(kindUpdate, 'K', []string{"2", ""}, 'N', []string{"1", "x"})},
			[]string{"110/1 delete id=1", "110/1+1 insert → id=2 name=x", "110/2 delete id=2, last", "110/2+1 insert → id=1 name=x, last"}},
		{"full: the old row tells it", full, [][]byte{rowOf(kindUpdate, 'O', []string{"1", "Ada"}, 'N', []string{"1", "?"})}, []string{"110/1 update id=1 → id=1 name=Ada, last"}},
		{"full: delete", full, [][]byte{rowOf(kindDelete, 'O', []string{"1", "Ada"})}, []string{"110/1 delete id=1, last"}},
		{"by another index: nothing refills", byName, [][]byte{insertOf("1", "Ada"), updateOf("1", "Ada"), rowOf(kindUpdate, 'K', []string{"", "Ada"}, 'N', []string{"1", "Bob"})},
			[]string{"110/1 insert → id=1 name=Ada", "110/2 update name=Ada → id=1 name=Ada", "110/3 delete name=Ada", "110/3+1 insert → id=1 name=Bob"}},
		{"none: no old row is told", none, [][]byte{insertOf("1", "Ada")}, []string{"110/1 schema"}},
		{"a key that is unknown", byKey, [][]byte{updateOf("?", "Bob")}, []string{"110/1 schema"}},
		{"fewer columns than described", byKey, [][]byte{insertOf("1"), insertOf("2")}, []string{"110/1 schema"}},
		{"not described", nil, [][]byte{insertOf("1", "Ada"), insertOf("2", "Ada")}, []string{"110/1 schema"}},
		{"makes no sense", byKey, [][]byte{insertOf("1", "Ada")[:9], insertOf("2", "Ada")}, []string{"110/1 schema", "110/2 insert → id=2 name=Ada, last"}},
		{"of a kind to come", byKey, [][]byte{{'Z', 1}, insertOf("2", "Ada")}, []string{"110/0 schema", "110/1 insert → id=2 name=Ada, last"}},
		{"truncate", byKey, [][]byte{{kindTruncate, 0, 0, 0, 1, 0, 0, 0, 0, 7}, insertOf("2", "Ada")}, []string{"110/1 truncate", "110/2 insert → id=2 name=Ada, last"}},
		{"truncate of what was not described", byKey, [][]byte{{kindTruncate, 0, 0, 0, 2, 0, 0, 0, 0, 9, 0, 0, 0, 7}}, []string{"110/1 schema", "110/2 truncate"}},
		{"a large row", byKey, [][]byte{insertOf("1", strings.Repeat("x", maxImageBytes))}, []string{"110/1 insert → id=1, last"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(r *reading) {
				r.send(beginOf(110, 1))
				if test.relation != nil {
					r.send(test.relation)
				}
				r.send(test.rows...)
				r.send(commitOf())
				r.want(r.poll(), test.want...)
			})
		})
	}
}

// Rows of tables that are not mapped count, so that positions do not depend on
// what is; an order of messages that does not matter does not move them.
func TestPositionsDoNotDependOnWhatIsKnown(t *testing.T) {
	other := relationOfShape(8, "other", 'd', usersShape...)
	ofOther := func(b []byte) []byte { b[4] = 8; return b }
	want := []string{"110/2 insert → id=1 name=Ada, last", "110/4 insert → id=2 name=Bob, last"}
	bubble(t, func(r *reading) {
		r.send(beginOf(110, 1), other, ofOther(insertOf("9", "x")), users(), insertOf("1", "Ada"), ofOther(insertOf("9", "x")), insertOf("2", "Bob"), commitOf())
		r.want(r.poll(), want...)
	})
	bubble(t, func(r *reading) {
		r.send(beginOf(110, 1), users(), users(), other, ofOther(insertOf("9", "x")), insertOf("1", "Ada"), ofOther(insertOf("9", "x")), other, insertOf("2", "Bob"), commitOf())
		r.want(r.poll(), want...)
	})
	fresh(t, func(r *reading) { // readers know nothing of the table
		r.send(beginOf(110, 1), other, ofOther(insertOf("9", "x")), users(), insertOf("1", "Ada"), ofOther(insertOf("9", "x")), insertOf("2", "Bob"), commitOf())
		r.want(r.poll(), append([]string{"110/1 schema"}, want...)...)
	})
}

// A table of other columns than readers know is announced before its first
// row, and a row of columns that the catalog does not have any more refills
// nothing; if its key is among them, nobody can tell which row it is.
func TestRelationsThatDiffer(t *testing.T) {
	id, name := relationColumn{true, "id", intType, -1}, relationColumn{false, "name", textType, -1}
	extra := relationColumn{false, "extra", textType, -1}
	bubble(t, func(r *reading) {
		r.send(beginOf(110, 1), relationOfShape(7, "users", 'd', id, name, extra), insertOf("1", "Ada", "x"), insertOf("2", "Bob", "x"), commitOf())
		r.send(beginOf(120, 1), users(), insertOf("3", "Eve"), commitOf())
		r.want(r.poll(), "110/0 schema", "110/1 insert → id=1 name=Ada extra=?", "110/2 insert → id=2 name=Bob extra=?",
			"120/0 schema", "120/1 insert → id=3 name=Eve, last")
	})
	bubble(t, func(r *reading) {
		r.send(beginOf(110, 1), relationOfShape(7, "users", 'd', relationColumn{true, "id", textType, -1}, name), insertOf("1", "Ada"), insertOf("2", "Bob"), commitOf())
		r.want(r.poll(), "110/0 schema")
	})
}

func TestKeysOnly(t *testing.T) {
	bubble(t, func(r *reading) {
		r.log.session.assembler.keysOnly = true
		r.send(beginOf(110, 1), users(), insertOf("1", "Ada"), updateOf("1", "Bob"), commitOf())
		b := r.poll()
		r.want(b, "110/1 insert → id=1", "110/2 update id=1 → id=1, last")
		for _, c := range b.Changes {
			for _, f := range c.After {
				if f.Kind != row.Number {
					t.Errorf("%+v goes along", f)
				}
			}
		}
	})
}

func TestTables(t *testing.T) {
	tables, err := tablesOf([]row.Spec{
		{Table: "users"}, {Table: "public.users", Key: []string{"email"}}, {Table: "shop.orders", Key: []string{"a", "b"}}, {Table: "users", Key: []string{"email", "b"}},
	})
	if err != nil || len(tables) != 2 || tables[0].name.String() != "users" || strings.Join(tables[0].keys, " ") != "email b" || tables[1].name.String() != "shop.orders" {
		t.Errorf("%+v, %v", tables, err)
	}
	if _, err := tablesOf([]row.Spec{{Table: "a.b.c"}}); err == nil {
		t.Error("a name of three parts")
	}
}
