package peer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/freshet-cache/freshet/proxy"
)

// The errors of a peer that has answered nothing.
var (
	// ErrAway: the peer is not connected, was lost, leaves, or its breaker is
	// open. It wraps proxy.ErrUnavailable.
	ErrAway = fmt.Errorf("peer is away: %w", proxy.ErrUnavailable)
	// ErrFull: too many requests wait for the peer, or are at work in it. It
	// wraps proxy.ErrShed.
	ErrFull = fmt.Errorf("peer is busy: %w", proxy.ErrShed)
	// ErrUseCase: a use case is unknown to the peer, or means something else
	// there. It wraps proxy.ErrUnknownUseCase.
	ErrUseCase = fmt.Errorf("peer does not serve this: %w", proxy.ErrUnknownUseCase)
)

// class is an error as it travels. The numbers are the protocol; one that is
// not known means unavailable.
type class byte

const (
	fine class = iota
	classUnavailable
	classReason // unavailable, for a reason in words
	classUseCase
	classNotPrimary
	classOutcome
	classShed
	classReadOnly
	classBadKey
	classRejected
	classLate // the time that the caller has is over
)

// sentinels are the errors that a class says all of.
var sentinels = [...]struct {
	class class
	err   error
}{
	{classUseCase, proxy.ErrUnknownUseCase},
	{classNotPrimary, proxy.ErrNotPrimary},
	{classOutcome, proxy.ErrUnknownOutcome},
	{classShed, proxy.ErrShed},
	{classReadOnly, proxy.ErrReadOnly},
	{classLate, context.DeadlineExceeded},
}

// classify returns the class of an error, and the words that go with it.
func classify(err error) (class, string) {
	var badKey *proxy.BadKeyError
	var rejected *proxy.RejectedError
	var unavailable *proxy.UnavailableError
	switch {
	case err == nil:
		return fine, ""
	case errors.As(err, &badKey):
		return classBadKey, badKey.Reason
	case errors.As(err, &rejected):
		return classRejected, rejected.Reason
	case errors.As(err, &unavailable):
		return classReason, unavailable.Reason
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.class, ""
		}
	}
	return classUnavailable, ""
}

// fault undoes classify.
func fault(c class, reason string) error {
	switch c {
	case fine:
		return nil
	case classBadKey:
		return &proxy.BadKeyError{Reason: reason}
	case classRejected:
		return &proxy.RejectedError{Reason: reason}
	case classReason:
		return &proxy.UnavailableError{Reason: reason, Err: errors.New("a peer says: " + reason)}
	}
	for _, s := range sentinels {
		if s.class == c {
			return s.err
		}
	}
	return proxy.ErrUnavailable
}

// clip shortens words to what travels.
func clip(s string) string {
	if len(s) <= maxReason {
		return s
	}
	return strings.ToValidUTF8(s[:maxReason], "")
}
