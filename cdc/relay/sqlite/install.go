package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// What a file gets besides the triggers. The stream's one row says who this
// history is: file is the name of the file it was in, so that a copy is known
// for one; topic is the incarnation of the topic it goes to. (No STRICT
// tables: clients older than SQLite 3.37 could not read the file.)
const (
	fingerprintTable = "freshet_table"
	sealView         = "freshet_seal"
	schemaVersion    = "PRAGMA schema_version"

	createStream = `CREATE TABLE IF NOT EXISTS ` + sqlite.StreamTable + ` (
	one INTEGER PRIMARY KEY CHECK (one = 1), id INTEGER NOT NULL, incarnation INTEGER NOT NULL,
	file TEXT NOT NULL, topic INTEGER NOT NULL)`
	createFingerprints = `CREATE TABLE IF NOT EXISTS ` + fingerprintTable + ` (
	name TEXT PRIMARY KEY NOT NULL, fingerprint TEXT NOT NULL)`
	createOutbox = `CREATE TABLE IF NOT EXISTS ` + sqlite.OutboxTable + ` (
	seq INTEGER PRIMARY KEY AUTOINCREMENT, tbl TEXT NOT NULL, op TEXT NOT NULL, old TEXT, new TEXT,
	mark INTEGER NOT NULL DEFAULT (random()))`
)

// Install puts the outbox and the triggers into the file, where they are not
// already there as they should be, and refuses tables that cannot be
// followed. Poll does the same for whatever changes later, but leaves out the
// tables it cannot follow: their use cases are then not served.
func (l *Log) Install(ctx context.Context) error {
	if err := l.connect(ctx); err != nil {
		return fmt.Errorf("outbox of %s: %w", l.opts.Path, err)
	}
	if err := l.install(ctx); err != nil {
		l.disconnect()
		return fmt.Errorf("outbox of %s: %w", l.opts.Path, err)
	}
	var refused []error
	for _, t := range l.tables {
		if t.reason != nil {
			refused = append(refused, t.reason)
		}
	}
	return errors.Join(refused...)
}

// install is one transaction: no change is committed between a table's
// triggers and the record that it has to be read again. The schema is then as
// this transaction leaves it.
func (l *Log) install(ctx context.Context) error {
	l.intact = false
	var version int64
	err := l.conn.Update(ctx, func() error {
		if err := l.conn.Row(ctx, []any{&version}, schemaVersion); err != nil {
			return err
		}
		missed := l.missed(version) // before anything here is a change of the schema
		for _, statement := range []string{createStream, createFingerprints, createOutbox} {
			if _, err := l.conn.Exec(ctx, statement); err != nil {
				return err
			}
		}
		if err := l.identify(ctx); err != nil {
			return err
		}
		if err := l.repair(ctx, missed); err != nil {
			return err
		}
		return l.conn.Row(ctx, []any{&version}, schemaVersion)
	})
	if err == nil {
		l.hasHead, l.head.SchemaVersion = true, version
	}
	return err
}

// identify gives the file its identity, and a new incarnation if it is a copy
// or went back in time.
func (l *Log) identify(ctx context.Context) error {
	_, err := l.conn.Exec(ctx, `INSERT OR IGNORE INTO `+sqlite.StreamTable+` VALUES (1, ?, ?, ?, 0)`,
		drawID(), time.Now().UnixMicro(), l.conn.File())
	if err != nil {
		return err
	}
	head, err := l.conn.Head(ctx)
	if err != nil {
		return err
	}
	var file string
	if err := l.conn.Row(ctx, []any{&file}, `SELECT file FROM `+sqlite.StreamTable); err != nil {
		return err
	}
	behind, err := l.behind(ctx, head)
	if err != nil {
		return err
	}
	if file == l.conn.File() && !behind {
		return nil
	}
	return l.renew(ctx)
}

// Renew begins a new incarnation of the file's history.
func (l *Log) Renew(ctx context.Context) error {
	if err := l.connect(ctx); err != nil {
		return err
	}
	err := l.conn.Update(ctx, func() error { return l.renew(ctx) })
	if err != nil {
		return fmt.Errorf("outbox of %s: %w", l.opts.Path, err)
	}
	l.disconnect()
	return nil
}

// renew begins an incarnation that is later than every one there was of this
// file. A backup does not know how many those were, so they are times.
func (l *Log) renew(ctx context.Context) error {
	l.logger.Warn("the file is a copy, or older than it was: its history begins anew", "path", l.opts.Path)
	_, err := l.conn.Exec(ctx, `UPDATE `+sqlite.StreamTable+` SET file = ?, incarnation = max(incarnation + 1, ?, ?)`,
		l.conn.File(), int64(l.head.Identity.Timeline)+1, time.Now().UnixMicro())
	return err
}

func drawID() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:])>>1 | 1)
}

// inspect compares the catalog of the snapshot with what it should be.
func (l *Log) inspect(ctx context.Context) error {
	var file string
	var topic, tables int64
	err := l.conn.Row(ctx, []any{&file, &topic, &tables}, `SELECT file, topic, (SELECT count(*) FROM sqlite_schema
		WHERE name IN ('`+fingerprintTable+`', '`+sqlite.OutboxTable+`')) FROM `+sqlite.StreamTable)
	if err != nil {
		return err
	}
	if file != l.conn.File() || tables != 2 {
		return errNotIntact
	}
	there, marked, err := l.installed(ctx)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, t := range l.tables {
		if err := t.describe(ctx, l.conn); err != nil {
			return err
		}
		if marked[t.name] != t.fingerprint() {
			return errNotIntact
		}
		if t.is == nil {
			continue
		}
		for _, text := range t.triggers() {
			wanted[text] = true
		}
	}
	if !maps.Equal(there, wanted) {
		return errNotIntact
	}
	l.topic = uint64(topic)
	return nil
}

// installed reads the texts of the outbox's triggers, and the fingerprints
// for which they were made.
//
// A trigger that someone dropped and created again, as tools do that rebuild
// or load a table, has its old text, and nobody knows what happened between.
// But it lies in the catalog behind all that was there, so behind the seal,
// which was made after the triggers: it does not count. (VACUUM keeps the
// order of views and triggers.)
func (l *Log) installed(ctx context.Context) (triggers map[string]bool, marked map[string]string, err error) {
	triggers, marked = map[string]bool{}, map[string]string{}
	err = l.conn.Query(ctx, func(v []any) error {
		triggers[v[0].(string)] = true
		return nil
	}, `SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '`+sqlite.TriggerPrefix+`*'
		AND rowid < (SELECT rowid FROM sqlite_schema WHERE type = 'view' AND name = '`+sealView+`')`)
	if err != nil {
		return nil, nil, err
	}
	err = l.conn.Query(ctx, func(v []any) error {
		marked[v[0].(string)] = v[1].(string)
		return nil
	}, `SELECT name, fingerprint FROM `+fingerprintTable)
	return triggers, marked, err
}

// repair makes the triggers what they should be. A table about which anything
// was wrong is logged as one whose every row may have changed; and if changes
// of the schema were missed, so are all.
func (l *Log) repair(ctx context.Context, missed bool) error {
	there, marked, err := l.installed(ctx)
	if err != nil {
		return err
	}
	wanted, sealed := map[string]bool{}, true
	for _, t := range l.tables {
		if err := t.describe(ctx, l.conn); err != nil {
			return err
		}
		var triggers []string
		if t.is != nil {
			triggers = t.triggers()
		}
		right := marked[t.name] == t.fingerprint()
		for _, text := range triggers {
			wanted[text] = true
			right = right && there[text]
		}
		if !right || missed {
			if _, err := l.conn.Exec(ctx, `INSERT INTO `+sqlite.OutboxTable+` (tbl, op) VALUES (?, ?)`, t.name, opSchema); err != nil {
				return err
			}
		}
		if right {
			continue
		}
		if t.reason != nil {
			l.logger.Warn("a table cannot be followed, and its use cases are not served", "table", t.name, "reason", t.reason)
		}
		if err := l.replace(ctx, t, triggers); err != nil {
			return err
		}
		sealed = false
	}
	if !sealed {
		if err := l.seal(ctx); err != nil {
			return err
		}
	}
	return l.dropOthers(ctx, wanted)
}

// seal puts the seal behind the triggers.
func (l *Log) seal(ctx context.Context) error {
	for _, s := range []string{"DROP VIEW IF EXISTS " + sealView, "CREATE VIEW " + sealView + " AS SELECT 1"} {
		if _, err := l.conn.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// replace re-creates the triggers of a table, under whatever table they are.
func (l *Log) replace(ctx context.Context, t *table, triggers []string) error {
	statements := []string{}
	for _, suffix := range []string{sqlite.BeforeInsert, sqlite.BeforeUpdate, sqlite.AfterInsert, sqlite.AfterUpdate, sqlite.AfterDelete} {
		statements = append(statements, "DROP TRIGGER IF EXISTS "+sqlite.Quote(sqlite.TriggerName(t.name, suffix)))
	}
	for _, s := range slices.Concat(statements, triggers) {
		if _, err := l.conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("table %q: %w", t.name, err)
		}
	}
	_, err := l.conn.Exec(ctx, `INSERT INTO `+fingerprintTable+` VALUES (?1, ?2)
		ON CONFLICT (name) DO UPDATE SET fingerprint = ?2`, t.name, t.fingerprint())
	return err
}

// dropOthers removes triggers of tables that are mapped no longer.
func (l *Log) dropOthers(ctx context.Context, wanted map[string]bool) error {
	var drop []string
	err := l.conn.Query(ctx, func(v []any) error {
		if !wanted[v[1].(string)] {
			drop = append(drop, v[0].(string))
		}
		return nil
	}, `SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '`+sqlite.TriggerPrefix+`*'`)
	if err != nil {
		return err
	}
	for _, name := range drop {
		if _, err := l.conn.Exec(ctx, "DROP TRIGGER "+sqlite.Quote(name)); err != nil {
			return err
		}
	}
	return nil
}
