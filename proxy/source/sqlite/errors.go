package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	driver "modernc.org/sqlite"

	"github.com/freshet-cache/freshet/proxy"
)

// The primary result codes that are told apart ("Result and Error Codes" in
// SQLite's documentation).
const (
	codeError      = 1
	codeBusy       = 5
	codeReadOnly   = 8
	codeInterrupt  = 9
	codeIOErr      = 10
	codeCantOpen   = 14
	codeTooBig     = 18
	codeConstraint = 19
	codeMismatch   = 20
	codeNotADB     = 26
)

// UnfitError says why a table, as it is, cannot be what a use case asks for,
// and how to mend it.
type UnfitError struct{ Reason string }

func (e *UnfitError) Error() string { return e.Reason }

func unfit(format string, args ...any) error {
	return &UnfitError{Reason: fmt.Sprintf(format, args...)}
}

// Code returns SQLite's primary result code, or 0 for another error.
func Code(err error) int {
	var e *driver.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// unavailable says that the file could not be read or written; nothing was
// carried out.
func unavailable(path string, err error) error {
	if errors.Is(err, proxy.ErrUnavailable) {
		return err
	}
	located := fmt.Errorf("%s: %w", path, err)
	if why := reason(err); why != "" {
		return &proxy.UnavailableError{Reason: why, Err: located}
	}
	return fmt.Errorf("%w: %w", proxy.ErrUnavailable, located)
}

// reason returns what SQLite or the catalog says is in the way, without where
// the file lies; "" if it is only that time was up.
func reason(err error) string {
	var unfit *UnfitError
	var own *driver.Error
	switch {
	case errors.As(err, &unfit):
		return unfit.Reason
	case errors.Is(err, ErrNotInstalled):
		return ErrNotInstalled.Error()
	case errors.Is(err, fs.ErrNotExist):
		return "the database file is not there"
	case errors.As(err, &own) && own.Code()&0xff != codeInterrupt:
		return wording(own)
	}
	return ""
}

// rejection returns the refusal that err is, or nil if it says nothing about
// the statement itself: constraints, types and sizes are the statement's own,
// and so is plain SQLITE_ERROR (a generated column, a trigger that is broken).
// Everything else (busy, full, read-only, damaged, a table that is away) may
// pass.
func rejection(err error) *proxy.RejectedError {
	if isMissing(err) {
		return nil
	}
	switch Code(err) {
	case codeConstraint, codeMismatch, codeTooBig, codeError:
		return &proxy.RejectedError{Reason: wording(err)}
	}
	return nil
}

// wording strips what the driver puts around SQLite's own message: a text of
// the code before it, and the code behind it, whose name may follow.
func wording(err error) string {
	text := strings.TrimSuffix(err.Error(), " (SQLITE_BUSY)")
	if i := strings.LastIndex(text, " ("); i > 0 {
		text = text[:i]
	}
	_, own, ok := strings.Cut(text, ": ")
	if !ok {
		return text
	}
	return own
}
