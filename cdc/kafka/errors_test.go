package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
)

func TestMend(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string // "": nothing is known
	}{
		{&tls.CertificateVerificationError{}, "stream.kafka.tls.ca_file"},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, "stream.kafka.tls.cert_file"},
		{kafkago.SASLAuthenticationFailed, "stream.kafka.sasl.password"},
		{kafkago.UnsupportedSASLMechanism, "stream.kafka.sasl.mechanism"},
		{kafkago.IllegalSASLState, "leave stream.kafka.sasl out"},
		{tls.RecordHeaderError{}, "another stream.kafka.tls"},
		{io.ErrUnexpectedEOF, "another stream.kafka.tls"},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, "another stream.kafka.tls"},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "start the brokers (a:1, b:2)"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, "start the brokers (a:1, b:2)"},
		{errAlien, "correct stream.kafka.brokers"},
		{context.DeadlineExceeded, "start the brokers (a:1, b:2)"},
		{context.Canceled, ""},
		{kafkago.LeaderNotAvailable, ""},
	} {
		got := mend(fmt.Errorf("ask: %w", test.err), []string{"a:1", "b:2"})
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%v: got %q, want %q", test.err, got, test.want)
		}
	}
}

// What is waited for is said once, and again when it is another thing.
func TestNewsOfAnotherReason(t *testing.T) {
	var logged buffer
	n := news{log: logger(&logged)}
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		err  error
		said int
	}{
		{refused, 1}, {fmt.Errorf("ask: %w", refused), 1}, {context.DeadlineExceeded, 1},
		{&tls.CertificateVerificationError{}, 2}, {&tls.CertificateVerificationError{}, 2},
		{kafkago.SASLAuthenticationFailed, 3}, {errors.New("something else"), 4}, {ErrNoTopic, 5}, {refused, 6},
	} {
		n.waiting(c.err)
		if got := strings.Count(logged.String(), "level=WARN"); got != c.said {
			t.Errorf("%v: said %d times, want %d:\n%s", c.err, got, c.said, logged.String())
		}
	}
}

// Where time is up during an attempt, what kept the attempts before it from
// success is still told.
func TestPersistTellsWhatItWaitedFor(t *testing.T) {
	p := producer(t, options([]string{"127.0.0.1:1"}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	attempts := 0
	err := p.persist(ctx, noPartition, func() error {
		if attempts++; attempts == 1 {
			return kafkago.SASLAuthenticationFailed
		}
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, kafkago.SASLAuthenticationFailed) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
