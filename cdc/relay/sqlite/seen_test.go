package sqlite

import (
	"context"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
)

// A backup that is put back into the file as it lies there begins another
// incarnation, however much is changed after that and before the next poll,
// and however often it is done.
func TestRestoredInPlace(t *testing.T) {
	t.Run("while running", func(t *testing.T) { restoreInPlace(t, func(*fixture) {}) })
	t.Run("while away", func(t *testing.T) { restoreInPlace(t, (*fixture).reopen) })
}

func restoreInPlace(t *testing.T, during func(*fixture)) {
	f := users(t)
	f.exec(`INSERT INTO users VALUES (1, 'a', 'A', 0)`)
	f.poll()
	backup := snapshotOf(f)
	for range 2 {
		f.exec(`UPDATE users SET n = n + 1`, `UPDATE users SET n = n + 1`)
		_, before := f.poll()
		restore(f, backup)
		during(f)
		for range 5 { // the same changes as before, and more of them
			f.exec(`UPDATE users SET n = n + 1`)
		}
		b, err := f.log.Poll(t.Context(), proxy.Position{})
		if err != nil {
			t.Fatal(err)
		}
		if !before.Source.Precedes(b.Source) {
			t.Errorf("identity %+v after %+v", b.Source, before.Source)
		}
		f.after = b.Through
	}
}

// The history that goes on is the same one, over restarts too.
func TestHistoryGoesOn(t *testing.T) {
	f := users(t)
	_, first := f.poll()
	for range 3 {
		f.exec(`INSERT OR REPLACE INTO users VALUES (1, 'a', 'A', 0)`)
		if _, b := f.poll(); b.Source != first.Source {
			t.Errorf("identity %+v after %+v", b.Source, first.Source)
		}
		f.reopen()
		f.exec(`UPDATE users SET n = n + 1`)
	}
}

func snapshotOf(f *fixture) (path string) {
	path = f.path + ".backup"
	f.exec(`VACUUM INTO '` + path + `'`)
	return path
}

// restore gives the file's tables the rows of a backup: what a restore in
// place comes to, as seen by others.
func restore(f *fixture, backup string) {
	f.Helper()
	ctx := context.Background()
	c, err := f.client.Conn(ctx)
	if err != nil {
		f.Fatal(err)
	}
	defer c.Close()
	for _, s := range []string{
		`ATTACH '` + backup + `' AS b`,
		`BEGIN IMMEDIATE`,
		`DELETE FROM users`, `INSERT INTO users SELECT * FROM b.users`,
		`DELETE FROM freshet_stream`, `INSERT INTO freshet_stream SELECT * FROM b.freshet_stream`,
		`DELETE FROM freshet_outbox`, `INSERT INTO freshet_outbox SELECT * FROM b.freshet_outbox`,
		`UPDATE sqlite_sequence SET seq = (SELECT seq FROM b.sqlite_sequence WHERE name = 'freshet_outbox') WHERE name = 'freshet_outbox'`,
		`COMMIT`,
		`DETACH b`,
	} {
		if _, err := c.ExecContext(ctx, s); err != nil {
			f.Fatalf("%s: %v", s, err)
		}
	}
}
