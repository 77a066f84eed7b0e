package proxy

import "errors"

// The errors callers branch on. proxy/command turns them into the words a
// client sees.
var (
	// ErrUnknownUseCase: the key's prefix names no use case.
	ErrUnknownUseCase = errors.New("no such use case")
	// ErrUnavailable: the source could not be read or written in time, and
	// nothing within the bound was at hand. A write that got this error was
	// not carried out.
	ErrUnavailable = errors.New("source unavailable")
	// ErrNotPrimary: the answer came from no primary of the current history.
	ErrNotPrimary = errors.New("not answered by the current primary")
	// ErrUnknownOutcome: the connection was lost while a write committed.
	ErrUnknownOutcome = errors.New("outcome of the write is unknown")
	// ErrWrongPassword: there is no user of that name and password.
	ErrWrongPassword = errors.New("wrong name or password")
	// ErrShed: refused, since too much of the kind waits already.
	ErrShed = errors.New("too much at once")
	// ErrReadOnly: the use case takes no writes.
	ErrReadOnly = errors.New("use case is read-only")
)

// BadKeyError is returned when a key is not in its accepted spelling.
type BadKeyError struct{ Reason string }

func (e *BadKeyError) Error() string { return "bad key: " + e.Reason }

// RejectedError is returned when the source refused a write or a value for a
// reason of its own (a constraint, a type). Reason is the source's wording.
type RejectedError struct{ Reason string }

func (e *RejectedError) Error() string { return e.Reason }

// UnavailableError is an ErrUnavailable for a reason that the source can give,
// in words that a client may see.
type UnavailableError struct {
	Reason string
	Err    error // what happened, for logs
}

func (e *UnavailableError) Error() string { return ErrUnavailable.Error() + ": " + e.Err.Error() }

func (e *UnavailableError) Unwrap() []error { return []error{ErrUnavailable, e.Err} }
