package stack_test

import (
	"context"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

func TestConnectShipsOverKillAndStart(t *testing.T) {
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, "CREATE TABLE a (id int PRIMARY KEY)")
	c := stacktest.Connect(t, stacktest.Kafka(t, nil))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	follows := func(want string) {
		t.Helper()
		for {
			got, err := p.Query(ctx, "SELECT active FROM pg_replication_slots WHERE slot_name = 'shop'")
			if got == want {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond) // another program's doing, until ctx ends
		}
	}
	if err := c.Put(ctx, "shop", stack.Debezium(p, "shop", "table.include.list=public.a")); err != nil {
		t.Fatal(err)
	}
	follows("t")
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	follows("f")
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	follows("t")

	if c.Put(ctx, "broken", stack.Debezium(p, "broken", "plugin.name=nosuch")) == nil {
		t.Error("a connector was made with a setting that does not exist")
	}
}
