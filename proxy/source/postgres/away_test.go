package postgres

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestAway(t *testing.T) {
	for _, c := range []struct {
		err  error
		away bool
	}{
		{&net.OpError{Op: "dial", Err: errors.New("connection refused")}, true},
		{fmt.Errorf("failed SASL auth: timeout: %w", context.DeadlineExceeded), true}, // a machine that is busy
		{fmt.Errorf("stopped: %w", context.Canceled), false},
		{&pgconn.PgError{Code: "57P03", SeverityUnlocalized: "FATAL"}, true},
		{&pgconn.PgError{Code: "57014", SeverityUnlocalized: "ERROR"}, true},
		{&pgconn.PgError{Code: "28P01", SeverityUnlocalized: "FATAL"}, false}, // a wrong password
		{&pgconn.PgError{Code: "42P01", SeverityUnlocalized: "ERROR"}, false},
		{x509.UnknownAuthorityError{}, false},
		{errStale, false},
	} {
		if got := Away(c.err); got != c.away {
			t.Errorf("Away(%v) = %v", c.err, got)
		}
	}
}
