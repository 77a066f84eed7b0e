package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Check reports what would keep a relay of these options from shipping the
// tables that the specs name, and how to mend it. It writes nothing. That the
// slot is read by another relay is no reason: this one will stand by.
func Check(ctx context.Context, opts Options, specs []row.Spec) error {
	l := New(opts, specs, slog.New(slog.DiscardHandler))
	if l.refused != nil {
		return l.refused
	}
	d, err := l.dialPrimary(ctx, l.opts.ConnectTimeout)
	if err != nil {
		return err
	}
	defer d.close()
	todo, err := l.survey(ctx, d)
	if err != nil {
		return err
	}
	var denied error
	if len(todo.statements) > 0 && !todo.owner {
		denied = todo.denied()
	}
	return errors.Join(denied, l.checkSlot(ctx, d), l.checkTable(ctx, d), l.checkSender(ctx, d))
}

const roomQuery = `SELECT (SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user),
	(SELECT count(*) FROM pg_replication_slots) < current_setting('max_replication_slots')::int`

func (l *Log) checkSlot(ctx context.Context, d *database) error {
	is, err := d.slot(ctx, l.opts.Slot)
	switch {
	case err != nil:
		return err
	case is.unfit != "":
		return fmt.Errorf("slot %q: %w", l.opts.Slot, is.usable())
	case is.found:
		return nil
	}
	return d.one(ctx, func(v [][]byte) error {
		switch {
		case !yes(v[0]):
			return &setupError{"this user may not read the log", []string{"ALTER ROLE … REPLICATION"}, "a superuser"}
		case !yes(v[1]):
			return errors.New("all replication slots are taken: " + moreSlots)
		}
		return nil
	}, roomQuery)
}

func (l *Log) checkTable(ctx context.Context, d *database) error {
	if !l.opts.CheckpointTable {
		return nil
	}
	may, err := d.text(ctx, "SELECT coalesce(has_table_privilege(to_regclass($1), 'INSERT, UPDATE'), has_schema_privilege('public', 'CREATE'))", postgres.CheckpointTable)
	if err == nil && may != "t" {
		err = tableDenied()
	}
	return err
}

// checkSender opens a connection of the kind that the log comes by.
func (l *Log) checkSender(ctx context.Context, d *database) error {
	r, err := replicate(ctx, l.opts.URL, d.identity)
	if err != nil {
		return err
	}
	r.close()
	return nil
}
