package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// healthInterval is between two looks at the slot.
const healthInterval = time.Second

// beats puts checkpoints into the log, on a connection of its own: a commit
// waits for the disk, and changes need not.
type beats struct {
	*database
	log *Log
}

// run emits checkpoints until an error.
func (b *beats) run(ctx context.Context, s *session) error {
	ticker := time.NewTicker(b.log.opts.CheckpointInterval)
	defer ticker.Stop()
	last := s.server.fingerprint
	var looked time.Time
	for {
		if time.Since(looked) >= healthInterval {
			if err := b.health(ctx); err != nil {
				return err
			}
			looked = time.Now()
		}
		// While nothing comes back, more of them say nothing more.
		if s.emitted.Load()-s.returned.Load() < maxChecks {
			if err := b.beat(ctx, s, &last); err != nil {
				return fmt.Errorf("put a checkpoint into the log: %w", err)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// beat is contract 6.5 and 6.8: T is read, then the fingerprint, then both are
// committed, without waiting for a standby.
func (b *beats) beat(ctx context.Context, s *session, last *fingerprint) error {
	t, err := b.clock(ctx)
	if err != nil {
		return err
	}
	f, err := b.fingerprint(ctx, b.log.opts.Publication, b.log.tables)
	if err != nil {
		return err
	}
	if f.publication != last.publication {
		return errAltered // the next session makes it right, and waits for what was not published
	}
	if !f.equal(*last) {
		if _, err := b.log.survey(ctx, b.database); err != nil {
			return err
		}
	}
	*last = f
	c := checkpoint{nonce: s.nonce, t: t, fingerprint: f}
	s.emitted.Add(1) // before it can come back
	return b.emit(ctx, &c)
}

func (b *beats) clock(ctx context.Context) (proxy.Time, error) {
	text, err := b.text(ctx, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8")
	if err != nil {
		return 0, err
	}
	micros, err := strconv.ParseInt(text, 10, 64)
	return proxy.Time(micros * int64(time.Microsecond)), err
}

// One statement is one transaction. The setting is made in it: with a
// synchronous standby that is away checkpoints have to go on, or nothing would
// tell that the rest waits.
const (
	emitAlone = `SELECT set_config('synchronous_commit', 'local', true), pg_logical_emit_message(true, $1, $2::bytea)`
	emitTable = `WITH w AS (` + postgres.CheckpointWrite + `)
		SELECT set_config('synchronous_commit', 'local', true), pg_logical_emit_message(true, $2, $3::bytea)`
)

func (b *beats) emit(ctx context.Context, c *checkpoint) error {
	content := `\x` + hex.EncodeToString(c.append(nil))
	if b.log.opts.CheckpointTable {
		return b.Query(ctx, nil, emitTable, strconv.FormatInt(int64(c.t), 10), prefix, content)
	}
	return b.Query(ctx, nil, emitAlone, prefix, content)
}
