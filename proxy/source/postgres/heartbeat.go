package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Heartbeat is what Debezium has to carry out again and again, so that its
// stream has checkpoints: heartbeat.action.query.
type Heartbeat struct {
	Tables      []string // of checkpoints, one for each topic; made by CheckpointRows
	Mapped      []string // the tables of the use cases
	Slot        string   // the connector's (slot.name)
	Publication string   // the connector's (publication.name)
}

// SQL is one statement, in one line and without a backslash, as a file of
// properties takes it.
//
//   - T is when the statement arrived, and the snapshot that reads the catalog
//     is taken after that: so all that was visible at T is in the fingerprint. A
//     clock that is read in the statement would be ahead of its snapshot.
//   - Its commit, which comes after T, is behind all that was visible at T.
//   - It waits for no standby: while one is away everything else waits, and the
//     connector, which waits for this statement, would stand.
//
// The planner takes it for a long one. It is not, a few milliseconds; but with
// jit = on, as servers have it by default, compiling it takes a hundred each time,
// and several on a busy machine: database.initial.statements=SET jit = off. It
// cannot say so itself, since it is planned before it does anything.
func (h Heartbeat) SQL() (string, error) {
	if len(h.Tables) == 0 {
		return "", errors.New("a heartbeat writes to no table")
	}
	names, err := parseNames(h.Mapped)
	if err != nil {
		return "", err
	}
	const updated = " AS c SET seq = c.seq + 1, t = f.t, system = f.system, timeline = f.timeline," +
		" started = f.started, slot = f.slot, fingerprint = f.fingerprint FROM facts AS f"
	updates := make([]string, len(h.Tables))
	for i, text := range h.Tables {
		name, err := ParseName(text)
		if err != nil {
			return "", err
		}
		updates[i] = "UPDATE " + name.SQL() + updated
	}
	with := []string{
		"asynchronous AS MATERIALIZED (SELECT pg_catalog.set_config('synchronous_commit', 'local', true))",
		"facts AS MATERIALIZED (" + h.facts(names) + ")",
	}
	for i, u := range updates[1:] {
		with = append(with, fmt.Sprintf("others%d AS (%s)", i, u))
	}
	return "WITH " + strings.Join(with, ", ") + " " + updates[0], nil
}

// facts is a row of what a checkpoint says.
func (h Heartbeat) facts(mapped []Name) string {
	const who = `(SELECT system_identifier FROM pg_catalog.pg_control_system()) AS system,
		('x' || pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8))::bit(32)::pg_catalog.int8 AS timeline,
		` + StartedSQL + ` AS started`
	return "SELECT (extract(epoch FROM pg_catalog.statement_timestamp()) * 1000000)::pg_catalog.int8 * 1000 AS t, " + line(who) +
		", " + literal(h.Slot) + "::text AS slot, " +
		literal(Covers(h.Mapped)) + " || (" + fingerprintOfAll(mapped, h.Publication) + ") AS fingerprint FROM asynchronous"
}

// line puts SQL into one line. It is not for SQL that holds names.
func line(sql string) string { return strings.NewReplacer("\n", " ", "\t", "").Replace(sql) }

// Covers is how the fingerprints begin that cover those tables and no others:
// who maps a table that the heartbeat does not know of has to notice.
func Covers(mapped []string) string {
	names, err := parseNames(mapped)
	if err != nil {
		return ""
	}
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = n.String()
	}
	hash := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(hash[:8]) + "."
}

// parseNames returns the tables' names in order, each once.
func parseNames(tables []string) ([]Name, error) {
	names := make([]Name, len(tables))
	for i, text := range tables {
		var err error
		if names[i], err = ParseName(text); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(names, func(a, b Name) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(names), nil
}
