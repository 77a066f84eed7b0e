//go:build mutants

package sqlite

import (
	"testing"

	"github.com/freshet-cache/freshet/proxy/hook"
)

// Each mutant breaks the rule it is named after.
func TestMutants(t *testing.T) {
	t.Run("fingerprint unread", func(t *testing.T) {
		f := users(t)
		hook.Set(hook.FingerprintUnread)
		defer hook.Set(hook.None)
		f.exec(`ALTER TABLE users ADD COLUMN m DEFAULT 5`)
		f.want()
		f.exec(`ALTER TABLE users DROP COLUMN m`)
		f.want()
	})
	t.Run("checkpoint now", func(t *testing.T) {
		f := users(t)
		hook.Set(hook.CheckpointNow)
		defer hook.Set(hook.None)
		between := now()
		hook.Step(func(point string) {
			if point == "sqlite.read" {
				between = now()
				f.exec(`INSERT INTO users (id, email) VALUES (1, 'a')`)
			}
		})
		defer hook.Step(nil)
		f.exec(`INSERT INTO users (id, email) VALUES (2, 'b')`)
		b, err := f.log.Poll(t.Context(), f.after)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Changes) != 1 || b.T <= between {
			t.Errorf("%d changes at T %v, and the last one that it has not was made at %v", len(b.Changes), b.T, between)
		}
	})
}
