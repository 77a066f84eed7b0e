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
		{&tls.CertificateVerificationError{}, "kafka.tls.ca_file"},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, "kafka.tls.cert_file"},
		{kafkago.SASLAuthenticationFailed, "kafka.sasl.password"},
		{kafkago.UnsupportedSASLMechanism, "kafka.sasl.mechanism"},
		{kafkago.IllegalSASLState, "leave kafka.sasl out"},
		{tls.RecordHeaderError{}, "another kafka.tls"},
		{io.ErrUnexpectedEOF, "another kafka.tls"},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, "another kafka.tls"},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "start the brokers (a:1, b:2)"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, "start the brokers (a:1, b:2)"},
		{errAlien, "correct kafka.brokers"},
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
