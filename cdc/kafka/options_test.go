package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestOptionsThatCannotWork(t *testing.T) {
	_, cert, key := identity(t, "x")
	for name, change := range map[string]func(*Options){
		"no brokers":          func(o *Options) { o.Brokers = nil },
		"no topic":            func(o *Options) { o.Topic = "" },
		"negative timeout":    func(o *Options) { o.AnswerTimeout = -1 },
		"tiny wait":           func(o *Options) { o.MaxWait = 1 },
		"negative size":       func(o *Options) { o.FetchMaxBytes = -1 },
		"huge fetch":          func(o *Options) { o.FetchMaxBytes = 1 << 31 },
		"unknown mechanism":   func(o *Options) { o.SASL.Mechanism = "GSSAPI" },
		"user, no mechanism":  func(o *Options) { o.SASL.User = "u" },
		"unknown codec":       func(o *Options) { o.Compression = "rar" },
		"no such authority":   func(o *Options) { o.TLS.CA = "/nowhere" },
		"authority is a key":  func(o *Options) { o.TLS.CA = key },
		"certificate, no key": func(o *Options) { o.TLS.Cert = cert },
	} {
		opts := options([]string{"127.0.0.1:1"})
		change(&opts)
		if _, err := NewProducer(opts, quiet()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewTail(Options{}, newEar(), quiet()); err == nil {
		t.Error("a tail of nothing: no error")
	}
}

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want class
	}{
		{io.ErrUnexpectedEOF, retry},
		{context.DeadlineExceeded, retry},
		{kafkago.NotLeaderForPartition, retry},
		{kafkago.UnknownTopicOrPartition, retry},
		{kafkago.TopicAuthorizationFailed, retry},
		{kafkago.SASLAuthenticationFailed, retry},
		{ErrNoTopic, retry},
		{kafkago.OffsetOutOfRange, lost},
		{&gap{reason: jump}, lost},
		{kafkago.InvalidTopic, hopeless},
		{kafkago.UnsupportedSASLMechanism, hopeless},
		{kafkago.MessageSizeTooLarge, hopeless},
		{&UnfitTopicError{}, hopeless},
	} {
		if got := classify(fmt.Errorf("wrapped: %w", tt.err)); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
}

// A name that can never exist ends Run instead of waiting for it.
func TestRunEndsWhenWaitingCannotHelp(t *testing.T) {
	c := cluster(t)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: topic, Err: kerr.InvalidTopicException, Count: -1})
	opts := options(c.ListenAddrs())
	tail, err := NewTail(opts, newEar(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	if err := tail.Run(within(t)); !errors.Is(err, kafkago.InvalidTopic) {
		t.Errorf("Run: %v", err)
	}
}
