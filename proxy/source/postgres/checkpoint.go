package postgres

import "fmt"

// CheckpointTable is where T of each checkpoint is written, in the transaction
// of the checkpoint: by a relay for those who read replicas, as a snapshot of a
// replica that shows T shows all that was visible on the primary at T; and by
// Debezium's heartbeats, whose rows in the stream are the checkpoints.
const CheckpointTable = "public.freshet_checkpoint"

// CheckpointDDL makes the table. t is a proxy.Time: nanoseconds since the Unix
// epoch. Room is left in its page, so that an update needs no new one.
const CheckpointDDL = `CREATE TABLE IF NOT EXISTS ` + CheckpointTable + checkpointColumns

const checkpointColumns = ` (id int PRIMARY KEY, t bigint NOT NULL) WITH (fillfactor = 10)`

// CheckpointWrite writes T ($1) into it.
const CheckpointWrite = `INSERT INTO ` + CheckpointTable +
	` (id, t) VALUES (0, $1::bigint) ON CONFLICT (id) DO UPDATE SET t = excluded.t`

// checkpointRead is T as a snapshot shows it, in one row; NULL while there is
// none.
const checkpointRead = `SELECT max(t) FROM ` + CheckpointTable

// CheckpointRows returns the statements that make a table of checkpoints, or
// complete one, for a connector: with that many rows, of which each partition
// of the topic it is routed to has to get one. A row is what the stream has to
// know of a checkpoint:
//
//	id           which row it is: the record's key, and so its partition
//	seq          one more with each heartbeat: a hole shows that rows are missing
//	t            proxy.Time; 0 until the first heartbeat
//	system, timeline, started  the server whose history it is: proxy.Identity
//	slot         the connector's
//	fingerprint  of the catalog: see Heartbeat
//
// A row that is added later counts on from the others.
func CheckpointRows(table string, rows int) ([]string, error) {
	name, err := ParseName(table)
	if err != nil {
		return nil, err
	}
	t := name.SQL()
	return []string{
		"CREATE TABLE IF NOT EXISTS " + t + checkpointColumns,
		"ALTER TABLE " + t + " ADD COLUMN IF NOT EXISTS seq bigint NOT NULL DEFAULT 0," +
			" ADD COLUMN IF NOT EXISTS system bigint, ADD COLUMN IF NOT EXISTS timeline bigint, ADD COLUMN IF NOT EXISTS started bigint," +
			" ADD COLUMN IF NOT EXISTS slot text, ADD COLUMN IF NOT EXISTS fingerprint text",
		fmt.Sprintf("INSERT INTO %s (id, seq, t) SELECT n, (SELECT coalesce(max(seq), 0) FROM %s), 0 FROM generate_series(1, %d) AS n"+
			" ON CONFLICT (id) DO NOTHING", t, t, rows),
	}, nil
}

// CheckpointTables names the tables of checkpoints of that many topics: one for
// each, as a record goes to one topic only. Their names begin alike.
func CheckpointTables(first string, topics int) ([]string, error) {
	name, err := ParseName(first)
	if err != nil {
		return nil, err
	}
	tables := make([]string, topics)
	for i := range tables {
		n := name
		if i > 0 {
			n.Table = fmt.Sprintf("%s_%d", name.Table, i+1)
		}
		tables[i] = n.String()
	}
	return tables, nil
}
