package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"

	"github.com/freshet-cache/freshet/proxy"
)

// The names of what the relay installs in a file, as the source reads them.
const (
	StreamTable = "freshet_stream" // one row: who this history is
	OutboxTable = "freshet_outbox" // one row per change, until Kafka has it
)

// ErrNotInstalled is returned for a file in which no relay has installed its
// outbox: nothing would say when a cached row changes.
var ErrNotInstalled = errors.New("no outbox is installed in this file: start its relay once")

// Head is what a snapshot says of itself.
type Head struct {
	Identity      proxy.Identity
	Sequence      uint64 // the highest the outbox has ever given out
	SchemaVersion int64
}

// Position is the position of everything the snapshot holds: behind each
// change with that sequence, whatever its place within it.
func (h Head) Position() proxy.Position {
	return proxy.Position{Commit: h.Sequence, Seq: math.MaxUint64}
}

// Head reads the head of the current snapshot. The sequence is the greater of
// what SQLite keeps count of and what is there: a statement that ends with OR
// FAIL keeps the rows its triggers have logged, and not the count.
func (c *Conn) Head(ctx context.Context) (Head, error) {
	var id, incarnation, sequence, version int64
	err := c.Row(ctx, []any{&id, &incarnation, &sequence, &version}, `SELECT s.id, s.incarnation,
		max(coalesce((SELECT q.seq FROM sqlite_sequence AS q WHERE q.name = '`+OutboxTable+`'), 0),
			coalesce((SELECT max(o.seq) FROM `+OutboxTable+` AS o), 0)), v.schema_version
		FROM `+StreamTable+` AS s, pragma_schema_version AS v`)
	if err != nil {
		if isMissing(err) {
			return Head{}, ErrNotInstalled
		}
		return Head{}, err
	}
	return Head{
		Identity:      proxy.Identity{System: uint64(id), Timeline: uint64(incarnation)},
		Sequence:      uint64(sequence),
		SchemaVersion: version,
	}, nil
}

func isMissing(err error) bool {
	return errors.Is(err, sql.ErrNoRows) || strings.Contains(err.Error(), "no such table")
}
