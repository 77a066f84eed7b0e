package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// The catalog is asked ten times a second, for a few tables of perhaps many, by
// a statement that looks costly to the planner: it was compiled for seconds
// each time, planned for 30 ms, and read whole catalogs. With the isolation
// that a source has, two relays that write one table of checkpoints would be in
// each other's way.
const sessionQuery = `SELECT set_config('jit', 'off', false), set_config('plan_cache_mode', 'force_generic_plan', false),
	set_config('enable_seqscan', 'off', false), set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', false),
	set_config('default_transaction_isolation', 'read committed', false)`

// dialPrimary opens an ordinary connection.
func (l *Log) dialPrimary(ctx context.Context, timeout time.Duration) (*database, error) {
	config, err := postgres.Config(l.opts.URL)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = applicationName
	c, err := postgres.Dial(ctx, config, postgres.Options{ConnectTimeout: l.opts.ConnectTimeout, StatementTimeout: timeout})
	if err != nil {
		return nil, err
	}
	d := &database{Conn: c}
	head, err := c.Head(ctx)
	if err == nil && !head.Identity.Known() {
		err = fmt.Errorf("%w: let the URL name the primary", proxy.ErrNotPrimary)
	}
	if err == nil {
		err = c.Query(ctx, nil, sessionQuery)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	d.identity = head.Identity
	return d, nil
}

// connect sets up what is missing, takes the slot and begins to read.
func (l *Log) connect(ctx context.Context) (*server, error) {
	if l.lost != nil {
		if err := l.giveUp(ctx, l.lost); err != nil {
			return nil, err
		}
		l.lost = nil
	}
	return l.open(ctx)
}

// unlimited is for statements that wait for transactions of others.
const unlimited = 24 * time.Hour

func (l *Log) open(ctx context.Context) (*server, error) {
	setup, err := l.dialPrimary(ctx, unlimited)
	if err != nil {
		return nil, err
	}
	defer setup.close()
	if err := l.prepare(ctx, setup); err != nil {
		return nil, err
	}
	return l.take(ctx, setup)
}

// prepare sets up the publication before the slot: a slot stops for ever where
// the log was written before its publication was made.
func (l *Log) prepare(ctx context.Context, d *database) error {
	is, err := d.slot(ctx, l.opts.Slot)
	if err != nil {
		return err
	}
	if is.found {
		if err := is.usable(); err != nil {
			return err // whoever stands by changes nothing
		}
	}
	todo, err := l.survey(ctx, d)
	if err != nil {
		return err
	}
	if err := l.run(ctx, d, todo); err != nil {
		return err
	}
	if err := l.prepareTable(ctx, d); err != nil {
		return err
	}
	switch {
	case is.lost:
		return fmt.Errorf("%w: the server needed the disk (max_slot_wal_keep_size), or it was away too long", errLost)
	case is.found:
		return nil
	}
	l.logger.Info("the slot is made as soon as the transactions that are running have ended", "slot", l.opts.Slot)
	l.waits.Store(&waitsForSlot)
	defer l.waits.Store(nil)
	return d.makeSlot(ctx, l.opts.Slot, l.opts.Failover)
}

func (l *Log) run(ctx context.Context, d *database, todo *survey) error {
	for _, sql := range todo.statements {
		err := d.Query(ctx, nil, sql)
		if denied(err) {
			return todo.denied()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
		l.logger.Info("set up the publication", "sql", sql)
	}
	return nil
}

// prepareTable makes the table of checkpoints, if there is to be one.
func (l *Log) prepareTable(ctx context.Context, d *database) error {
	if !l.opts.CheckpointTable {
		return nil
	}
	may, err := d.text(ctx, "SELECT has_table_privilege(to_regclass($1), 'INSERT, UPDATE')", postgres.CheckpointTable)
	if err != nil || may == "t" {
		return err
	}
	if may == "" {
		if err = d.Query(ctx, nil, postgres.CheckpointDDL); err == nil || !denied(err) {
			return err
		}
	}
	return tableDenied()
}

func tableDenied() error {
	return &setupError{"replicas are read, and checkpoints cannot be written to " + postgres.CheckpointTable,
		[]string{postgres.CheckpointDDL, "GRANT SELECT, INSERT, UPDATE ON " + postgres.CheckpointTable + " TO …"}, "a user with CREATE on schema public"}
}

func denied(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42501"
}

// giveUp drops a slot that cannot go on.
func (l *Log) giveUp(ctx context.Context, why error) error {
	d, err := l.dialPrimary(ctx, unlimited)
	if err != nil {
		return err
	}
	defer d.close()
	is, err := d.slot(ctx, l.opts.Slot)
	if err != nil || !is.found {
		return err
	}
	if err := is.usable(); err != nil {
		return err
	}
	l.metrics.lost.Inc()
	l.logger.Warn("the slot is lost and is made anew: changes were missed, so everything that is cached will be dropped", "slot", l.opts.Slot, "reason", why)
	return d.dropSlot(ctx, l.opts.Slot)
}

// take begins to read, and only then reads what may change while nobody holds
// the slot.
func (l *Log) take(ctx context.Context, setup *database) (_ *server, err error) {
	s := &server{identity: setup.identity, shapes: map[*table][]relationColumn{}}
	var open []func()
	defer func() {
		if err != nil {
			for _, f := range open {
				f()
			}
		}
	}()
	feed, err := replicate(ctx, l.opts.URL, setup.identity)
	if err != nil {
		return nil, err
	}
	s.feed, open = feed, append(open, feed.close)
	if err := l.keepOnStandbys(ctx, setup, feed); err != nil {
		return nil, err
	}
	if err := feed.start(ctx, l.opts.Slot, l.opts.Publication); err != nil {
		return nil, explain(err)
	}
	ask, err := l.another(ctx, setup.identity)
	if err != nil {
		return nil, err
	}
	s.primary, open = ask, append(open, ask.close)
	beat, err := l.another(ctx, setup.identity)
	if err != nil {
		return nil, err
	}
	s.pulse, open = &beats{database: beat, log: l}, append(open, beat.close)
	return s, l.look(ctx, s, setup)
}

// keepOnStandbys makes a slot that was made without it one that standbys keep.
func (l *Log) keepOnStandbys(ctx context.Context, d *database, feed *replication) error {
	if !l.opts.Failover {
		return nil
	}
	is, err := d.slot(ctx, l.opts.Slot)
	if err != nil || is.failover {
		return err
	}
	return feed.command(ctx, "ALTER_REPLICATION_SLOT "+quote(l.opts.Slot)+" (FAILOVER true)")
}

func (l *Log) another(ctx context.Context, identity proxy.Identity) (*database, error) {
	d, err := l.dialPrimary(ctx, 5*time.Second)
	if err == nil && d.identity != identity {
		d.close()
		return nil, errOtherServer
	}
	return d, err
}

// look reads the tables, and then the fingerprint: what is altered in between
// is announced once too often. What is published was seen to before, and that
// may be long ago. So it is looked at once more, now that the fingerprint tells
// of what is altered from here on:
//
//  1. the table is found to be published
//  2. somebody drops it and makes another one, which is not
//  3. the fingerprint is read
//  4. none that follows has anything else published, so nothing is found altered,
//     and no change of the table is ever shipped
func (l *Log) look(ctx context.Context, s *server, d *database) error {
	is, err := d.slot(ctx, l.opts.Slot)
	if err != nil {
		return err
	}
	head, err := d.Head(ctx)
	if err != nil {
		return err
	}
	s.confirmed, s.end = is.confirmed, head.Insert
	for _, t := range l.tables {
		is, err := d.describe(ctx, t)
		if err != nil {
			return err
		}
		if is != nil {
			s.shapes[t] = is.shape
		}
	}
	if s.fingerprint, err = d.fingerprint(ctx, l.opts.Publication, l.tables); err != nil {
		return err
	}
	l.metrics.moved()
	todo, err := l.survey(ctx, d)
	if err == nil && len(todo.statements) > 0 {
		err = errAltered
	}
	return err
}
