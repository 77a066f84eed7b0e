package e2e

import (
	"fmt"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// A standby is promoted while writes and reads go on: another stream, and
// nothing stale. With PostgreSQL 17 the slot is there already.
func TestRealFailover(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		const keys = 100
		p := stacktest.Postgres(t, v)
		stacktest.Exec(t, p, seed(keys)...)
		standby := stacktest.Standby(t, p, "second", followed(t, p, v)...)
		stacktest.Exec(t, p, "ALTER SYSTEM SET synchronous_standby_names = 'second'", "SELECT pg_reload_conf()")
		awaitQuery(t, p, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", "1")

		tr := newTier(t, p, stacktest.Kafka(t, nil), versionsUseCase)
		tr.connect(fmt.Sprintf("postgres://postgres@%s,%s/postgres?sslmode=disable", p.Address(), standby.Address()))
		if v == stack.PG17 {
			tr.set("failover_slot: true")
		}
		tr.start()
		if v == stack.PG17 {
			awaitQuery(t, standby, "SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'freshet' AND synced AND NOT temporary", "1")
		}
		f := tr.run(keys, 2, time.Second, 10*time.Millisecond)
		f.dwell(2 * time.Second)
		gaps := tr.metric("freshet_cdc_gaps_total")
		f.moved(standby)
		tr.kill(p)
		if err := standby.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the node has noticed", func() bool { return tr.metric("freshet_cdc_gaps_total") > gaps })
		tr.well()
		f.dwell(2 * time.Second)
		f.stop()
	})
}

// followed prepares a primary for a standby that keeps up its slots, where the
// version can do that, and returns the standby's settings.
func followed(t *testing.T, p *stack.Postgres, v stack.Version) []string {
	t.Helper()
	if v != stack.PG17 {
		return nil
	}
	stacktest.Exec(t, p, "SELECT pg_create_physical_replication_slot('second')")
	return []string{"sync_replication_slots = on", "hot_standby_feedback = on", "primary_slot_name = 'second'"}
}

// The database throws the slot away, because the relay was away for too long:
// what changed meanwhile is not in the new one, so everything is dropped.
func TestRealLostSlot(t *testing.T) {
	stacktest.Need(t)
	const keys = 100
	p := stacktest.Postgres(t, stack.PG15, "max_slot_wal_keep_size = '16MB'", "max_wal_size = '32MB'", "min_wal_size = '32MB'")
	stacktest.Exec(t, p, seed(keys)...)
	tr := newTier(t, p, stacktest.Kafka(t, nil), versionsUseCase).start()
	f := tr.run(keys, 2, time.Second, 10*time.Millisecond)
	f.dwell(time.Second)
	gaps := tr.metric("freshet_cdc_gaps_total")
	tr.kill(tr.relay)
	eventually(t, "the slot is lost", func() bool {
		stacktest.Exec(t, p, "SELECT pg_logical_emit_message(false, 'noise', repeat('x', 100000)) FROM generate_series(1, 100)", "SELECT pg_switch_wal()", "CHECKPOINT")
		return query(t, p, "SELECT wal_status FROM pg_replication_slots WHERE slot_name = 'freshet'") == "lost"
	})
	tr.begin(tr.relay)
	eventually(t, "the node has noticed", func() bool { return tr.metric("freshet_cdc_gaps_total") > gaps })
	tr.well()
	f.dwell(time.Second)
	f.stop()
}

// Partitions are added to the topic while changes come: another stream, and
// nothing stale.
func TestRealPartitionsAdded(t *testing.T) {
	stacktest.Need(t)
	const keys = 100
	p, k := stacktest.Postgres(t, stack.PG15), stacktest.Kafka(t, nil)
	stacktest.Exec(t, p, seed(keys)...)
	tr := newTier(t, p, k, versionsUseCase).start()
	f := tr.run(keys, 2, time.Second, 10*time.Millisecond)
	f.dwell(time.Second)
	gaps := tr.metric("freshet_cdc_gaps_total")
	transport := &kafkago.Transport{}
	defer transport.CloseIdleConnections()
	admin := kafkago.Client{Addr: kafkago.TCP(k.Address()), Transport: transport, Timeout: patience}
	res, err := admin.CreatePartitions(t.Context(), &kafkago.CreatePartitionsRequest{
		Topics: []kafkago.TopicPartitionsConfig{{Name: "changes", Count: 6}},
	})
	if err != nil || res.Errors["changes"] != nil {
		t.Fatal(err, res)
	}
	eventually(t, "the node has noticed", func() bool { return tr.metric("freshet_cdc_gaps_total") > gaps })
	tr.well()
	f.dwell(time.Second)
	f.stop()
}
