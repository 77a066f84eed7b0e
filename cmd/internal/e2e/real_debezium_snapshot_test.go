package e2e

import (
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// The slot is gone when a connector comes back, with the changes made meanwhile,
// and it reads the tables anew. No record tells of rows that are in none, and
// no heartbeat is missing, as it was not there to carry one out.
func TestRealDebeziumSnapshot(t *testing.T) {
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, itemsTable...)
	k := stacktest.Kafka(t, nil)
	s := newShipper(t, p, k, stacktest.Connect(t, k), []string{"items"}, "snapshot.mode=when_needed")
	sh := s.shop(itemsUseCase)
	n := sh.node()
	sh.await(n)
	c := sh.client(n.Address())
	c.cached("item:5")
	stacktest.Exec(t, p, "UPDATE items SET v = 'shipped' WHERE id = 5")
	c.becomes(patience, "shipped", "HGET", "item:5", "v")
	c.cached("item:5")

	if err := s.connect.Remove(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	awaitQuery(t, p, "SELECT active FROM pg_replication_slots WHERE slot_name = 'shop'", "f")
	stacktest.Exec(t, p, "SELECT pg_drop_replication_slot('shop')", "DELETE FROM items")
	s.put()
	c.becomes(patience, "(nil)", "HGET", "item:5", "v")

	stacktest.Exec(t, p, "INSERT INTO items VALUES (5, 'followed')")
	c.becomes(patience, "followed", "HGET", "item:5", "v")
}
