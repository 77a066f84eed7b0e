package postgres

// CheckpointTable is where a relay writes the T of each of its checkpoints, in
// the transaction of the checkpoint, for those who read replicas: a snapshot
// of a replica that shows T shows all that was visible on the primary at T.
const CheckpointTable = "public.freshet_checkpoint"

// CheckpointDDL makes the table. t is a proxy.Time: nanoseconds since the Unix
// epoch. Room is left in its page, so that an update needs no new one.
const CheckpointDDL = `CREATE TABLE IF NOT EXISTS ` + CheckpointTable +
	` (id int PRIMARY KEY, t bigint NOT NULL) WITH (fillfactor = 10)`

// CheckpointWrite writes T ($1) into it.
const CheckpointWrite = `INSERT INTO ` + CheckpointTable +
	` (id, t) VALUES (0, $1::bigint) ON CONFLICT (id) DO UPDATE SET t = excluded.t`

// checkpointRead is T as a snapshot shows it, in one row; NULL while there is
// none.
const checkpointRead = `SELECT max(t) FROM ` + CheckpointTable
