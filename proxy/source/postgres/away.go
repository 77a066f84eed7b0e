package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// Away reports whether an error says no more than that the server takes no
// connections now: it is not there, not there yet, full, or too busy to answer
// in time. Waiting mends that, and no setting does.
func Away(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "53300", "57014", "57P01", "57P02", "57P03": // full, busy, shutting down, crashed, starting
			return true
		}
		return false
	}
	return classify(err) == isLost || errors.Is(err, context.DeadlineExceeded)
}
