package postgres

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	errOtherServer = errors.New("another server answers than the one that has the slot, or a standby: let the URL name the primary, and no pooler")
	errAltered     = errors.New("what is published of the mapped tables was altered")
	// errLost says that the slot cannot go on.
	errLost = errors.New("the slot is lost")
)

// setupError is returned when something has to be set up that this user may
// not, or that should not be done without being asked for.
type setupError struct {
	what string
	sql  []string // what sets it up
	who  string   // may do it
}

func (e *setupError) Error() string {
	return fmt.Sprintf("%s: as %s, run: %s", e.what, e.who, strings.Join(e.sql, "; "))
}

// explain names the mend of what the server says when the log is to be read.
func explain(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	switch {
	case pg.Code == "53300":
		return fmt.Errorf("%w: raise max_wal_senders, or end another reader of the log", err)
	case pg.Code == "53400":
		return fmt.Errorf("%w: %s", err, moreSlots)
	case pg.Code == "42501" || pg.Code == "28000" && strings.Contains(pg.Message, "replication"):
		return fmt.Errorf("%w: a superuser lets this user read the log with: ALTER ROLE … REPLICATION", err)
	case pg.Code == "28000":
		return fmt.Errorf("%w: let pg_hba.conf admit this user's connections to this database", err)
	case pg.Code == "55000" && (strings.Contains(pg.Message, "can no longer get changes") || strings.Contains(pg.Message, "cannot read from logical replication slot")):
		return fmt.Errorf("%w: %w", errLost, err)
	case pg.Code == "42704" && strings.Contains(pg.Message, "publication"):
		// There is one now, or it would not have come so far: but there was
		// none when the log was written, and the slot stops there for ever.
		return fmt.Errorf("%w: the publication was made after what the slot stands before: %w", errLost, err)
	}
	return err
}

// What a log waits for.
const running = "have ended: SELECT pid, xact_start, query FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY xact_start, and SELECT * FROM pg_prepared_xacts"

var (
	waitsForSlot    = "the slot is made once the transactions that are running " + running
	waitsForBarrier = "nothing is shipped until the transactions that began before the slot, or before the publication had all tables, " + running
	waitsForGate    = "a transaction is committed and nobody sees it: a synchronous standby is away (synchronous_standby_names), or slow"
)

const moreSlots = "raise max_replication_slots (the server has to be restarted), or drop one that nobody needs: SELECT slot_name, active FROM pg_replication_slots"

const applicationName = "freshet relay"

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
