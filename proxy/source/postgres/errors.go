package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cache/freshet/proxy"
)

// class says what an error means for the one who sent a statement.
type class uint8

// The classes of errors.
const (
	isNone     class = iota // there was no error
	isOther                 // it may pass: time was up, resources, rights
	isRejected              // the statement's own: a constraint, a type, a trigger's refusal
	isReadOnly              // the session may not write: a standby, or a setting
	isConflict              // with another transaction; the same again may succeed
	isLost                  // the connection; the server may go on with what it was sent
	isStale                 // the catalog is not what the statement was made for
	isPooled                // the session is not the one that was prepared
)

// classify decides what an error means. SQLSTATE codes are in appendix A of
// PostgreSQL's manual.
func classify(err error) class {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return isNone
	case errors.Is(err, errStale):
		return isStale
	case errors.Is(err, errUnsettled):
		return isPooled
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return isOther // even if it closed the connection
	case !errors.As(err, &pg):
		return lost(err)
	}
	if s := pg.SeverityUnlocalized; s == "FATAL" || s == "PANIC" {
		return isLost
	}
	switch pg.Code {
	case "26000", "42P05": // no such statement, or one of that name
		return isPooled
	case "25006":
		return isReadOnly
	case "40001", "40P01": // serialization, deadlock
		return isConflict
	case "42P01", "42703", "42883", "42704", "3F000", "42P10": // table, column, operator, type, schema, unique index gone
		return isStale
	case "0A000":
		if pg.Routine == "RevalidateCachedQuery" { // "cached plan must not change result type"
			return isStale
		}
		return isRejected
	}
	switch pg.Code[:min(2, len(pg.Code))] {
	case "21", "22", "23", "27", "2F", "38", "39", "42", "44", "54", "P0":
		return isRejected
	}
	return isOther
}

// lost tells errors of the connection from those that this package makes.
func lost(err error) class {
	var network *net.OpError
	var connect *pgconn.ConnectError
	if untrusted(err) || refusesTLS(err) { // no waiting mends that
		return isOther
	}
	if errors.As(err, &network) || errors.As(err, &connect) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) {
		return isLost
	}
	return isOther
}

// missing reports whether that table is not there.
func missing(err error, table string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42P01" && strings.Contains(pg.Message, table)
}

// UnfitError says why a table, as it is, cannot be what a use case asks for,
// and how to mend it.
type UnfitError struct{ Reason string }

func (e *UnfitError) Error() string { return e.Reason }

func unfit(format string, args ...any) error {
	return &UnfitError{Reason: fmt.Sprintf(format, args...)}
}

// unavailable says that the database could not be read or written; nothing was
// carried out.
func unavailable(err error) error {
	if errors.Is(err, proxy.ErrUnavailable) || errors.Is(err, proxy.ErrNotPrimary) {
		return err
	}
	if why := reason(err); why != "" {
		return &proxy.UnavailableError{Reason: why, Err: err}
	}
	return fmt.Errorf("%w: %w", proxy.ErrUnavailable, err)
}

// reason returns what the server or the catalog says is in the way, without
// where the server is; "" if it is only that it did not answer.
func reason(err error) string {
	var unfit *UnfitError
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &unfit):
		return unfit.Reason
	case errors.As(err, &pg):
		return pg.Message + mend(err)
	}
	return ""
}

// untrusted reports whether the server's certificate was not accepted.
func untrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	return errors.As(err, &verify) || errors.As(err, &authority)
}

// refusesTLS reports whether the server has no TLS, for which the driver has
// no error of its own.
func refusesTLS(err error) bool {
	return strings.Contains(err.Error(), "server refused TLS connection")
}

// mend says what lets a connection be made, or a statement be carried out,
// that failed. It begins with a colon, or is empty.
func mend(err error) string {
	var pg *pgconn.PgError
	var network *net.OpError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &pg) && strings.Contains(pg.Message, "statement pooling mode"): // PgBouncer's
		return ": use pool_mode = transaction, or session"
	case errors.As(err, &pg):
		return mends[pg.Code]
	case untrusted(err):
		return ": give the authority with sslrootcert, or the name in the certificate as the host; sslmode=require does not look at it"
	case refusesTLS(err):
		return ": turn ssl on in the server, or allow sslmode=prefer"
	case errors.As(err, &network), errors.As(err, &connect) && errors.Is(err, context.DeadlineExceeded): // nobody is there, or says nothing
		return ": start the server, or correct its host and port"
	}
	return ""
}

var mends = map[string]string{
	"28P01": ": correct the user or the password (in the URL, the environment or .pgpass)",
	"28000": ": let the server's pg_hba.conf admit this user from here with this sslmode, or correct the user",
	"3D000": ": create the database, or correct its name",
	"42501": ": grant it to the user, or use another",
	"53300": ": raise the server's max_connections, or use smaller pools",
	"57P03": ": it will be asked again",
	"42P01": ": create the table, or correct the use case",
	"08P01": ": a pooler in front of the database must pass these start-up parameters, or ignore them (ignore_startup_parameters)",
}
