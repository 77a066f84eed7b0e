package sqlite_test

import (
	"context"
	"testing"
	"time"

	source "github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// Whoever looks at a file leaves it as it is; whoever wants it in WAL mode waits
// for those who write.
func TestWALWhileAnotherWrites(t *testing.T) {
	path, client := newFile(t, suiteSchema)
	client.SetMaxOpenConns(1)
	exec(t, client, "PRAGMA journal_mode = delete")
	dial := func(busy time.Duration) *source.Conn {
		t.Helper()
		c, err := source.Dial(t.Context(), path, busy)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	mode := func(c *source.Conn) (mode string) {
		t.Helper()
		if err := c.Row(t.Context(), []any{&mode}, "PRAGMA journal_mode"); err != nil {
			t.Fatal(err)
		}
		return mode
	}
	hasty, patient := dial(10*time.Millisecond), dial(5*time.Second)
	exec(t, client, "BEGIN IMMEDIATE")
	if err := hasty.WAL(t.Context()); err == nil || mode(hasty) != "delete" {
		t.Errorf("%v, and the mode is %s", err, mode(hasty))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := patient.WAL(ctx); err == nil {
		t.Error("it went through")
	}
	wal := make(chan error)
	go func() { wal <- patient.WAL(t.Context()) }()
	select {
	case err := <-wal:
		t.Fatalf("nobody was waited for: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	exec(t, client, "COMMIT")
	if err := <-wal; err != nil || mode(patient) != "wal" {
		t.Errorf("%v, and the mode is %s", err, mode(patient))
	}
}
