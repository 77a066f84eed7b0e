package sqlite

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
	source "github.com/freshet-cache/freshet/proxy/source/sqlite"
)

var seeds = flag.Int("seeds", 4, "random histories of the twin test")

// twin is the naive model of what follows the outbox: a map of what was read,
// from which each change drops or replaces the keys it names. Whenever all
// changes have been applied, the map says what the table says.
type twin struct {
	*fixture
	rng      *rand.Rand
	source   *source.Source
	catalog  *proxy.Catalog
	held     map[string]held
	replaced int
}

type held struct {
	row      string // "" if there is no such row
	position proxy.Position
}

const twinSchema = `
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, nick TEXT COLLATE NOCASE UNIQUE, n, up AS (upper(email)));
CREATE UNIQUE INDEX some ON users (n) WHERE n > 5;
CREATE TABLE orders (a TEXT NOT NULL, b INTEGER NOT NULL, code BLOB NOT NULL UNIQUE, v REAL, PRIMARY KEY (b, a)) WITHOUT ROWID;
CREATE TABLE kv (k TEXT PRIMARY KEY, v BLOB);
CREATE TRIGGER counts AFTER INSERT ON users WHEN NEW.n = 3 BEGIN UPDATE users SET n = NULL WHERE id = NEW.id + 1; END;`

func twinSpecs() []row.Spec {
	return []row.Spec{
		{Name: "users", Table: "users"},
		{Name: "byemail", Table: "users", Key: []string{"email"}},
		{Name: "nick", Table: "users", Column: "nick"},
		{Name: "orders", Table: "orders", Key: []string{"a", "b"}},
		{Name: "bycode", Table: "orders", Key: []string{"code"}},
		{Name: "kv", Table: "kv", Column: "v"},
	}
}

func TestTwin(t *testing.T) {
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runTwin(t, seed) })
	}
}

func runTwin(t *testing.T, seed uint64) {
	w := &twin{fixture: newFixture(t, twinSchema, twinSpecs()...), rng: rand.New(rand.NewPCG(seed, 1)), held: map[string]held{}}
	w.log.opts.BatchRows = 1 + w.rng.IntN(20)
	w.log.opts.KeepRows = 5
	var err error
	if w.source, w.catalog, err = source.Open(t.Context(), source.Options{Path: w.path, Readers: 1}, w.specs); err != nil {
		t.Fatal(err)
	}
	defer w.source.Close()
	clients := []*sql.DB{w.client, w.open("_pragma=recursive_triggers(1)"), w.open("_pragma=foreign_keys(1)")}
	for step := range 150 {
		client := clients[w.rng.IntN(len(clients))]
		statement := w.statement()
		if _, err := client.Exec(statement); err != nil { // a refusal is one of the things that happen
			_, _ = client.Exec("ROLLBACK") // if the statement began something
		}
		w.fill(1 + w.rng.IntN(4))
		if w.rng.IntN(3) == 0 {
			w.apply()
			w.check(fmt.Sprintf("step %d, last statement %s", step, statement))
		}
		if w.rng.IntN(60) == 0 {
			w.reopen()
		}
	}
	if w.replaced == 0 {
		t.Error("no entry was ever replaced")
	}
}

func (w *twin) id() int { return w.rng.IntN(8) }

func (w *twin) letter() string { return string("aAbBcCdD"[w.rng.IntN(8)]) }

// statement is what some client might do to the tables.
func (w *twin) statement() string {
	or := [...]string{"", "OR REPLACE", "OR IGNORE", "OR FAIL", "OR ROLLBACK", "OR REPLACE"}[w.rng.IntN(6)]
	switch w.rng.IntN(26) {
	case 0, 1, 2, 3:
		return fmt.Sprintf(`INSERT %s INTO users (id, email, nick, n) VALUES (%d, '%s', '%s', %d)`, or, w.id(), w.letter(), w.letter(), w.id())
	case 4:
		return fmt.Sprintf(`INSERT %s INTO users (email, nick, n) VALUES ('%s', '%s', %d), ('%s', NULL, 3)`, or, w.letter(), w.letter(), w.id(), w.letter())
	case 5, 6:
		return fmt.Sprintf(`UPDATE %s users SET email = '%s', n = %d WHERE id = %d`, or, w.letter(), w.id(), w.id())
	case 7:
		return fmt.Sprintf(`UPDATE %s users SET id = id + %d WHERE id >= %d`, or, w.rng.IntN(3)-1, w.id())
	case 8:
		return fmt.Sprintf(`UPDATE %s users SET nick = '%s' WHERE email < '%s'`, or, w.letter(), w.letter())
	case 9:
		return fmt.Sprintf(`INSERT INTO users (id, email, n) VALUES (%d, '%s', %d) ON CONFLICT DO UPDATE SET n = excluded.n`, w.id(), w.letter(), w.id())
	case 10:
		return fmt.Sprintf(`DELETE FROM users WHERE id = %d OR email = '%s'`, w.id(), w.letter())
	case 11, 12:
		return fmt.Sprintf(`INSERT %s INTO orders VALUES ('%s', %d, x'6%d', %d)`, or, w.letter(), w.id(), w.id(), w.id())
	case 13:
		return fmt.Sprintf(`UPDATE %s orders SET code = x'6%d', v = v + 0.5 WHERE b = %d`, or, w.id(), w.id())
	case 14:
		return fmt.Sprintf(`UPDATE %s orders SET a = '%s' WHERE b < %d`, or, w.letter(), w.id())
	case 15:
		return fmt.Sprintf(`UPDATE orders SET code = '%d' WHERE b = %d`, w.id(), w.id()) // a text in a BLOB column
	case 16, 17:
		return fmt.Sprintf(`INSERT %s INTO kv (rowid, k, v) VALUES (%d, '%s', %d)`, or, 1+w.id(), w.letter(), w.id())
	case 18:
		if w.rng.IntN(2) == 0 {
			return fmt.Sprintf(`INSERT %s INTO kv VALUES (CAST('%s' AS BLOB), 'blob')`, or, w.letter())
		}
		return fmt.Sprintf(`UPDATE kv SET k = CAST(k AS BLOB) WHERE k = '%s'`, w.letter())
	case 19:
		return fmt.Sprintf(`UPDATE %s kv SET rowid = %d WHERE k = '%s'`, or, 1+w.id(), w.letter())
	case 20:
		end := [...]string{"COMMIT", "ROLLBACK", "COMMIT"}[w.rng.IntN(3)]
		return fmt.Sprintf(`BEGIN; %s; SAVEPOINT s; %s; ROLLBACK TO s; %s; %s`, w.statement(), w.statement(), w.statement(), end)
	case 21:
		return [...]string{`DELETE FROM users`, `DELETE FROM kv`, `DELETE FROM orders`, `VACUUM`}[w.rng.IntN(4)]
	case 22:
		if w.rng.IntN(3) == 0 {
			return fmt.Sprintf(`ALTER TABLE kv ADD COLUMN c%d DEFAULT 7`, w.rng.IntN(1000))
		}
		return [...]string{`ALTER TABLE users ADD COLUMN extra DEFAULT 1`, `ALTER TABLE users DROP COLUMN extra`,
			`BEGIN; ALTER TABLE kv DROP COLUMN v; ALTER TABLE kv ADD COLUMN v BLOB; COMMIT`}[w.rng.IntN(3)]
	case 23:
		return `BEGIN; DROP TABLE kv; CREATE TABLE kv (k TEXT PRIMARY KEY, v BLOB); INSERT INTO kv VALUES ('a', 'new'), ('b', 'new'); COMMIT`
	case 24:
		return [...]string{`DROP TRIGGER freshet_cdc_users_au`, `DROP TRIGGER freshet_cdc_orders_bi`, `DROP TRIGGER freshet_cdc_kv_ad`}[w.rng.IntN(3)]
	default:
		return fmt.Sprintf(`UPDATE users SET n = %d`, 6+w.id()) // in conflict with itself
	}
}

// randomKey names a row or none.
func (w *twin) randomKey() string {
	switch w.rng.IntN(6) {
	case 0:
		return fmt.Sprintf("users:%d", w.id())
	case 1:
		return "byemail:" + w.letter()
	case 2:
		return fmt.Sprintf("nick:%d", w.id())
	case 3:
		return fmt.Sprintf("orders:%s:%d", w.letter(), w.id())
	case 4:
		return fmt.Sprintf("bycode:%c", byte(0x60+w.id()))
	default:
		return "kv:" + w.letter()
	}
}

func (w *twin) load(keys []string) []held {
	w.Helper()
	reqs, results := make([]proxy.Request, len(keys)), make([]proxy.Result, len(keys))
	for i, text := range keys {
		key, err := w.catalog.Key([]byte(text))
		if err != nil {
			w.Fatal(text, err)
		}
		reqs[i].Key = key
	}
	w.source.Load(context.Background(), reqs, results)
	out := make([]held, len(keys))
	for i, r := range results {
		if r.Err != nil {
			w.Fatal(keys[i], r.Err)
		}
		out[i].position = r.Position
		if r.Row.Exists() {
			out[i].row = string(r.Row.AppendJSON(nil))
		}
	}
	return out
}

func (w *twin) fill(n int) {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = w.randomKey()
	}
	for i, h := range w.load(keys) {
		if _, there := w.held[keys[i]]; !there {
			w.held[keys[i]] = h
		}
	}
}

// apply does with all changes there are what a node does.
func (w *twin) apply() {
	for more := true; more; {
		b, err := w.log.Poll(w.Context(), w.after)
		if err != nil {
			w.Fatal(err)
		}
		w.after = b.Through
		for i := range b.Changes {
			w.change(&b.Changes[i])
		}
		more = b.Backlog > 0
		if err := w.log.Ack(w.Context(), relay.Mark{Topic: 1, Through: b.Through}); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *twin) change(c *relay.Change) {
	for _, u := range w.catalog.OnTable(c.Table) {
		if c.Op == event.SchemaChanged {
			u.Mapping.Forget()
			for k := range w.held {
				if key, _ := w.catalog.Key([]byte(k)); key.UseCase == u {
					delete(w.held, k)
				}
			}
			continue
		}
		before, _ := u.Mapping.Key(c.Before)
		after, _ := u.Mapping.Key(c.After)
		old, there := w.held[string(after)]
		delete(w.held, string(before))
		delete(w.held, string(after))
		image, complete := u.Mapping.Row(c.After)
		if there && complete && c.Last && u.Mapping.Primary && c.Position.Compare(old.position) > 0 {
			w.replaced++
			w.held[string(after)] = held{row: string(image.AppendJSON(nil)), position: c.Position}
		}
	}
}

func (w *twin) check(when string) {
	w.Helper()
	var keys []string
	for k := range w.held {
		keys = append(keys, k)
	}
	for i, now := range w.load(keys) {
		if is := w.held[keys[i]]; is.row != now.row {
			w.Fatalf("%s:\n%s is held as  %s (%v)\nand the table has %s (%v)", when, keys[i], is.row, is.position, now.row, now.position)
		}
	}
}
