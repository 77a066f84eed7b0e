package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cache/freshet/proxy"
)

func TestClassify(t *testing.T) {
	state := func(code string) error { return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code}) }
	for _, test := range []struct {
		err  error
		want Class
	}{
		{nil, None},
		{state("23505"), Rejected},
		{state("22P02"), Rejected},
		{state("P0001"), Rejected},
		{state("42501"), Rejected},
		{state("428C9"), Rejected},
		{state("42P01"), Stale},
		{state("42703"), Stale},
		{&pgconn.PgError{Code: "0A000", Routine: "RevalidateCachedQuery"}, Stale},
		{state("0A000"), Rejected},
		{state("26000"), Pooled},
		{state("40001"), Conflict},
		{state("40P01"), Conflict},
		{state("25006"), ReadOnly},
		{state("57014"), Other},
		{state("53100"), Other},
		{&pgconn.PgError{Code: "57P01", SeverityUnlocalized: "FATAL"}, Lost},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), Lost},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, Lost},
		{pgconn.ErrConnClosed, Lost},
		{context.DeadlineExceeded, Other},
		{errBusy, Other},
		{unfit("no"), Other},
		{errStandby, Other},
		{errStale, Stale},
		{errUnsettled, Pooled},
		{&unknownError{io.EOF}, Other},
	} {
		if got := Classify(test.err); got != test.want {
			t.Errorf("%v: class %d, want %d", test.err, got, test.want)
		}
	}
}

// What a client is told names the mend and not where the server is.
func TestReason(t *testing.T) {
	err := unavailable(fmt.Errorf("connect to 10.1.2.3: %w", &pgconn.PgError{Code: "53300", Message: "sorry, too many clients already"}))
	var told *proxy.UnavailableError
	if !errors.Is(err, proxy.ErrUnavailable) || !errors.As(err, &told) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(told.Reason, "too many clients") || !strings.Contains(told.Reason, "max_connections") || strings.Contains(told.Reason, "10.1.2.3") {
		t.Errorf("told %q", told.Reason)
	}
	if err := unavailable(errStandby); !errors.Is(err, proxy.ErrNotPrimary) || errors.Is(err, proxy.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
