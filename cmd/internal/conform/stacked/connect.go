package stacked

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// connector is the name of Debezium's, of its slot and its publication, and
// what broker and database know it by.
const connector = "connector"

const (
	checkpoints    = "freshet_checkpoint"
	checkpointRows = 16
)

// startConnect starts a worker with a connector that ships the table, and
// checkpoints in the same topic. Publishing all tables lets it find one that is
// made anew.
func (d *Deployment) startConnect(ctx context.Context) (err error) {
	ddl, err := postgres.CheckpointRows(checkpoints, checkpointRows)
	if err != nil {
		return err
	}
	if err := d.database.exec(ctx, append(ddl, "CREATE PUBLICATION "+connector+" FOR ALL TABLES")...); err != nil {
		return err
	}
	settings, err := d.connector()
	if err != nil {
		return err
	}
	if d.connect, err = stack.StartConnect(ctx, d.kafka); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	return d.connect.Put(ctx, connector, settings)
}

func heartbeat() (string, error) {
	return postgres.Heartbeat{Tables: []string{checkpoints}, Mapped: []string{table.Rows}, Slot: connector, Publication: connector}.SQL()
}

// connector is its settings: as freshet doctor --debezium has them, by a way of
// its own to the database, and by one name to the broker.
func (d *Deployment) connector() (map[string]string, error) {
	beat, err := heartbeat()
	if err != nil {
		return nil, err
	}
	w, err := d.database.way(connector)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(w.Address())
	if err != nil {
		return nil, err
	}
	const json = "org.apache.kafka.connect.json.JsonConverter"
	return stack.Debezium(d.database.primary, connector,
		"database.hostname="+host, "database.port="+port,
		"publication.autocreate.mode=disabled", "skipped.operations=none",
		fmt.Sprintf("table.include.list=public.%s,public.%s", table.Rows, checkpoints),
		fmt.Sprintf("topic.creation.default.partitions=%d", part.Partitions),
		"transforms=one", "transforms.one.type=org.apache.kafka.connect.transforms.RegexRouter",
		`transforms.one.regex=`+connector+`\.public\..*`, "transforms.one.replacement="+topic,
		"key.converter="+json, "value.converter="+json,
		"key.converter.schemas.enable=false", "value.converter.schemas.enable=false",
		"heartbeat.interval.ms=100", "heartbeat.action.query="+beat, "poll.interval.ms=5",
		// A heartbeat that is kept from its table fails, and holds nothing up.
		"database.initial.statements=SET jit = off; SET lock_timeout = '20ms'",
		// Whom a killed worker had its slot from, notices it a moment later.
		"slot.retry.delay.ms=200", "slot.max.retries=300",
		"retriable.restart.connector.wait.ms=200", "producer.override.client.id="+connector,
	), nil
}

// ofConnect are those of the worker. It sends again what it had sent since it
// last noted its place.
func (d *Deployment) ofConnect() []fault.Fault {
	return []fault.Fault{
		part.Lasting("kill", connector, 100*time.Millisecond, time.Second,
			func(context.Context) error { return d.connect.Kill() }, d.startAgain),
		frozen("freeze", connector, 2*time.Second, func() *stack.Process { return d.connect.Process }),
		frozen("freeze for 3Δ", connector, 3*part.Delta, func() *stack.Process { return d.connect.Process }),
		d.Hole("black hole to the broker", connector),
		d.Late("stream delayed by 250ms", connector, part.Delta/4),
		d.unseen(),
	}
}

// startAgain starts the worker. The fault lasts until what was written meanwhile
// is shipped; if that takes too long, C11 says so.
func (d *Deployment) startAgain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	if err := d.connect.Start(ctx); err != nil {
		return err
	}
	const shipped = "SELECT confirmed_flush_lsn >= '%s' FROM pg_replication_slots WHERE slot_name = '" + connector + "'"
	end := d.asked(ctx, "SELECT pg_current_wal_lsn()", func(string) bool { return true })
	d.asked(ctx, fmt.Sprintf(shipped, end), func(answer string) bool { return answer == "t" })
	return nil
}

// asked asks the primary until it gives an answer that will do, or ctx ends:
// another fault may have it in hand.
func (d *Deployment) asked(ctx context.Context, query string, will func(answer string) bool) string {
	for {
		answer, err := d.database.primary.Query(ctx, query)
		if err == nil && will(answer) || !pause.For(ctx, 100*time.Millisecond) {
			return answer
		}
	}
}
