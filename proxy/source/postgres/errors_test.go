package postgres

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cache/freshet/proxy"
)

func TestClassify(t *testing.T) {
	state := func(code string) error { return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code}) }
	for _, test := range []struct {
		err  error
		want class
	}{
		{nil, isNone},
		{state("23505"), isRejected},
		{state("22P02"), isRejected},
		{state("P0001"), isRejected},
		{state("42501"), isRejected},
		{state("428C9"), isRejected},
		{state("42P01"), isStale},
		{state("42703"), isStale},
		{&pgconn.PgError{Code: "0A000", Routine: "RevalidateCachedQuery"}, isStale},
		{state("0A000"), isRejected},
		{state("26000"), isPooled},
		{state("40001"), isConflict},
		{state("40P01"), isConflict},
		{state("25006"), isReadOnly},
		{state("57014"), isOther},
		{state("53100"), isOther},
		{&pgconn.PgError{Code: "57P01", SeverityUnlocalized: "FATAL"}, isLost},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), isLost},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, isLost},
		{pgconn.ErrConnClosed, isLost},
		{&net.OpError{Op: "remote error", Err: x509.UnknownAuthorityError{}}, isOther},
		{&net.OpError{Op: "dial", Err: errors.New("server refused TLS connection")}, isOther},
		{context.DeadlineExceeded, isOther},
		{errBusy, isOther},
		{unfit("no"), isOther},
		{errStandby, isOther},
		{errStale, isStale},
		{errUnsettled, isPooled},
		{&unknownError{io.EOF}, isOther},
	} {
		if got := classify(test.err); got != test.want {
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

// A server that takes connections and says nothing, or is behind a wall that
// drops what is sent, is no error of the network's: time is up.
func TestMendOfSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // whoever connects waits in its backlog
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = pgconn.Connect(ctx, "postgres://u:s3cret@"+l.Addr().String()+"/d?sslmode=disable")
	if err == nil || !strings.Contains(mend(err), "correct its host and port") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v%s", err, mend(err))
	}
}
