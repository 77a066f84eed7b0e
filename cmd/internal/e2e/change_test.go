package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
)

// lag is what the stream may take. The bounds of the use cases are an hour, so
// only the stream can make these replies fresh at all.
const lag = 10 * time.Second

func everyMapping() []config.UseCase {
	key := mapped("key", "kv", time.Hour)
	key.Column = "value"
	return []config.UseCase{
		mapped("users", "users", time.Hour),
		mapped("by-email", "users", time.Hour, "email"),
		mapped("orders", "orders", time.Hour),
		mapped("products", "products", time.Hour),
		key,
	}
}

// Whatever another SQLite client does to a row, its key is fresh again.
func TestChangesByOtherClients(t *testing.T) {
	s := newStack(t, everyMapping()...)
	n, c := s.start()
	for _, e := range []struct {
		name      string
		statement string
		read      []string // cached before the statement
		before    string
		after     string
	}{
		{"update", "UPDATE users SET credit = 7 WHERE id = 1", []string{"HGET", "users:1", "credit"}, "37", "7"},
		{"update, by another unique index", "UPDATE users SET credit = 8 WHERE id = 2", []string{"HGET", "by-email:alan2@shop.example", "credit"}, "74", "8"},
		{"a key moves away", "UPDATE users SET email = 'moved@shop.example' WHERE id = 3", []string{"EXISTS", "by-email:edsger3@shop.example"}, "1", "0"},
		{"a key moves to a cached absence", "UPDATE users SET email = 'nobody@shop.example' WHERE id = 4", []string{"EXISTS", "by-email:nobody@shop.example"}, "0", "1"},
		{"insert over a cached absence", "INSERT INTO users (id, name, email) VALUES (5001, 'New', 'new@shop.example')", []string{"HGET", "users:5001", "name"}, Nil, "New"},
		{"delete", "DELETE FROM users WHERE id = 5", []string{"GET", "users:5"}, `{"id":5,"name":"Donald Ford","email":"donald5@shop.example","city":"Berlin","credit":185}`, Nil},
		{"composite key", "UPDATE orders SET state = 'lost' WHERE user_id = 6 AND number = 1", []string{"HGET", "orders:6:1", "state"}, "open", "lost"},
		{"replace, same key", "INSERT OR REPLACE INTO users (id, name, email) VALUES (7, 'Seven', 'seven@shop.example')", []string{"HGET", "users:7", "name"}, "Tony Stream", "Seven"},
		{"insert or replace deletes another row by its email", "INSERT OR REPLACE INTO users (id, name, email) VALUES (5002, 'Thief', 'radia8@shop.example')", []string{"EXISTS", "users:8"}, "1", "0"},
		{"update or replace deletes another row by its email", "UPDATE OR REPLACE users SET email = 'ken9@shop.example' WHERE id = 10", []string{"EXISTS", "users:9"}, "1", "0"},
		{"upsert", "INSERT INTO products (sku, title, cents, stock) VALUES ('sku-001', 'x', 1, 1) ON CONFLICT (sku) DO UPDATE SET stock = 999", []string{"HGET", "products:sku-001", "stock"}, "13", "999"},
		{"a column of bytes", "UPDATE kv SET value = x'00ff' WHERE key = '000000000001'", []string{"GET", "key:000000000001"}, "xxx", "\x00\xff"},
		{"a column is added", "ALTER TABLE products ADD COLUMN colour TEXT DEFAULT 'red'", []string{"HGET", "products:sku-002", "colour"}, Nil, "red"},
		{"a column is renamed", "ALTER TABLE products RENAME COLUMN stock TO left", []string{"HGET", "products:sku-003", "left"}, Nil, "39"},
		{"a change after the schema's", "UPDATE products SET colour = 'blue' WHERE sku = 'sku-004'", []string{"HGET", "products:sku-004", "colour"}, "red", "blue"},
		{"delete without a condition", "DELETE FROM orders", []string{"EXISTS", "orders:11:1"}, "1", "0"},
	} {
		c.becomes(lag, e.before, e.read...)
		s.sql(e.statement)
		c.becomes(lag, e.after, e.read...)
		if t.Failed() {
			t.Fatalf("in %q", e.name)
		}
	}
	if lies := s.metric(n, "freshet_cdc_lies_total"); lies != 0 {
		t.Errorf("%v lies were counted", lies)
	}
}

// What is rolled back was never there.
func TestRollbackChangesNothing(t *testing.T) {
	s := newStack(t, everyMapping()...)
	_, c := s.start()
	if got := c.do("HGET", "users:1", "credit"); got != "37" {
		t.Fatalf("credit = %s", got)
	}
	s.sql("BEGIN; UPDATE users SET credit = 0 WHERE id = 1; ROLLBACK; UPDATE users SET credit = 1 WHERE id = 2")
	c.becomes(lag, "1", "HGET", "users:2", "credit")
	if got := c.do("HGET", "users:1", "credit"); got != "37" {
		t.Errorf("after a rollback, credit = %s", got)
	}
}

// Within the default bound, whatever the stream does.
func TestDefaultBoundHolds(t *testing.T) {
	u := config.DefaultUseCase("users")
	u.Table = "users"
	s := newStack(t, u)
	_, c := s.start()
	for _, credit := range []string{"1", "2", "3"} {
		c.do("HGET", "users:1", "credit")
		s.sql("UPDATE users SET credit = " + credit + " WHERE id = 1")
		c.becomes(time.Duration(u.Bound), credit, "HGET", "users:1", "credit")
	}
	proof := c.do("FRESHET.GET", "users:1", "PROOF")
	if !strings.Contains(proof, "bound_met\n1") {
		t.Errorf("proof:\n%s", proof)
	}
}

// A table that the relay can follow no longer is not served until it can, and
// harms no other.
func TestATableThatCannotBeFollowed(t *testing.T) {
	s := newStack(t, everyMapping()...)
	_, c := s.start()
	c.do("GET", "products:sku-001")
	s.sql("CREATE UNIQUE INDEX by_title ON products (lower(title))")
	eventually(t, "it is refused", func() bool {
		_, err := c.Do("GET", "products:sku-001")
		return err != nil
	})
	c.do("HGET", "users:1", "credit")
	c.becomes(lag, s.setCredit(1, 1), "HGET", "users:1", "credit")
	s.sql("DROP INDEX by_title")
	eventually(t, "it is served again", func() bool {
		reply, err := c.Do("HGET", "products:sku-001", "title")
		return err == nil && reply == "Product 1"
	})
}

// What a node refuses at start, it refuses with the reason and the mend.
func TestRefusedAtStart(t *testing.T) {
	for name, c := range map[string]struct {
		statement string
		useCase   config.UseCase
		want      string
	}{
		"no such table":       {"SELECT 1", mapped("u", "nothing", 0), `"nothing"`},
		"no such column":      {"SELECT 1", mapped("u", "users", 0, "nickname"), `"nickname"`},
		"not unique":          {"SELECT 1", mapped("u", "users", 0, "city"), "unique"},
		"spelled in two ways": {"CREATE TABLE t (k TEXT PRIMARY KEY NOT NULL COLLATE NOCASE)", mapped("u", "t", 0), "NOCASE"},
		"no primary key":      {"CREATE TABLE t (k TEXT NOT NULL UNIQUE, v)", mapped("u", "t", 0, "k"), "primary key"},
		"an expression":       {"CREATE UNIQUE INDEX i ON users (lower(email))", mapped("u", "users", 0), "expression"},
	} {
		s := newStack(t, c.useCase)
		s.sql(c.statement)
		if err := node.Check(t.Context(), s.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Tables that are nobody's use case may come and go, and make nothing void;
// unless so many do between two looks of the relay that it cannot tell which
// they were.
func TestSchemaChangesElsewhere(t *testing.T) {
	s := newStack(t, mapped("users", "users", time.Hour))
	n, c := s.start()
	c.do("GET", "users:1")
	voids := s.metric(n, "freshet_cache_voids_total")
	c.do("HGET", "users:2", "credit")
	for i, statement := range []string{"CREATE TABLE storm (a)", "INSERT INTO storm VALUES (1)", "ALTER TABLE storm ADD COLUMN b", "VACUUM", "DROP TABLE storm"} {
		s.sql(statement)
		c.becomes(lag, s.setCredit(2, i), "HGET", "users:2", "credit") // so all that went before has been shipped
	}
	if hit, proof := s.hit(n, c, "users:1"); !hit {
		t.Errorf("an entry went with tables that are not its own:\n%s", proof)
	}
	if after := s.metric(n, "freshet_cache_voids_total"); after != voids {
		t.Errorf("use cases were made void %v times", after-voids)
	}
	s.sql("BEGIN; CREATE TABLE storm (a); ALTER TABLE storm ADD COLUMN b; DROP TABLE storm; COMMIT")
	eventually(t, "the use case is void", func() bool { return s.metric(n, "freshet_cache_voids_total") > voids })
	eventually(t, "there are hits again", func() bool { hit, _ := s.hit(n, c, "users:1"); return hit })
}

// A change of a table's shape that is undone again before the relay looks is
// noticed nonetheless: what was read in between does not stay, and nor does
// what was read before of values that are gone.
func TestSchemaChangesUndone(t *testing.T) {
	s := newStack(t, mapped("notes", "notes", time.Hour))
	s.sql("CREATE TABLE notes (id INTEGER PRIMARY KEY, text); INSERT INTO notes VALUES (1, 'a'), (2, 'b')")
	t.Cleanup(s.broker().Close)
	stop := s.relay()
	n := s.node()
	s.await(n)
	c := s.client(n.Address())

	stop()
	s.sql("ALTER TABLE notes ADD COLUMN colour DEFAULT 'red'")
	c.becomes(lag, `{"id":1,"text":"a","colour":"red"}`, "GET", "notes:1")
	s.sql("ALTER TABLE notes DROP COLUMN colour")
	s.relay()
	c.becomes(lag, `{"id":1,"text":"a"}`, "GET", "notes:1")

	// In one transaction, while the relay runs.
	c.becomes(lag, `{"id":2,"text":"b"}`, "GET", "notes:2")
	s.sql("BEGIN; ALTER TABLE notes DROP COLUMN text; ALTER TABLE notes ADD COLUMN text; COMMIT")
	c.becomes(lag, `{"id":2,"text":null}`, "GET", "notes:2")
}
