package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	kafkago "github.com/segmentio/kafka-go"
)

// ErrNoTopic is returned when the brokers know no such topic.
var ErrNoTopic = errors.New("kafka: the topic does not exist")

// Reasons of a gap, as Handler.Lost gets them and as the metric counts them.
const (
	started         = "started"          // nothing was followed before
	topicGone       = "topic_gone"       // the brokers no longer know the topic
	partitionsAdded = "partitions_added" // changes may be in a partition nobody read
	partitionsFewer = "partitions_fewer" // another topic of that name
	outOfRange      = "out_of_range"     // the broker has no such offset
	logCut          = "log_cut"          // retention or a deletion passed the position
	logShort        = "log_short"        // the log ends before the position
	logStartBack    = "log_start_back"   // the log begins earlier than it did: another log
	epochBack       = "epoch_back"       // an older leader epoch behind a newer one: another log
	jump            = "jump"             // offsets are missing, and the topic is not compacted
)

var reasons = []string{
	started, topicGone, partitionsAdded, partitionsFewer, outOfRange,
	logCut, logShort, logStartBack, epochBack, jump,
}

// gap says that the stream has a hole at a partition (-1: none in particular).
type gap struct {
	reason    string
	topic     string // empty: the only one, or none in particular
	partition int32
	next      int64 // the offset that should have come
	found     int64 // what was found instead
}

func (g *gap) Error() string {
	return fmt.Sprintf("gap (%s) in partition %d: expected offset %d, found %d", g.reason, g.partition, g.next, g.found)
}

type class uint8

const (
	retry    class = iota // wait and ask again: nothing is lost
	lost                  // a gap
	hopeless              // no waiting mends it
)

// classify says what an error of the cluster means to who asked. It is the
// only place that decides.
func classify(err error) class {
	var g *gap
	var unfit *UnfitTopicError
	switch {
	case errors.As(err, &g):
		return lost
	case errors.Is(err, kafkago.OffsetOutOfRange):
		// The one word of a broker that says records are gone.
		return lost
	case errors.As(err, &unfit):
		// Somebody has to choose.
		return hopeless
	case errors.Is(err, kafkago.InvalidTopic):
		// The name is illegal: it will not come to exist.
		return hopeless
	case errors.Is(err, kafkago.UnsupportedSASLMechanism):
		// A setting on either side, not a passing state of a broker.
		return hopeless
	case errors.Is(err, kafkago.UnsupportedVersion),
		errors.Is(err, kafkago.UnsupportedCompressionType):
		// The brokers are too old, or too new, for this library.
		return hopeless
	case errors.Is(err, kafkago.MessageSizeTooLarge),
		errors.Is(err, kafkago.RecordListTooLarge),
		errors.Is(err, kafkago.InvalidRecord),
		errors.Is(err, kafkago.PolicyViolation),
		errors.Is(err, kafkago.InvalidRequiredAcks),
		errors.Is(err, kafkago.InvalidConfiguration),
		errors.Is(err, kafkago.InvalidReplicationFactor),
		errors.Is(err, kafkago.InvalidPartitionNumber):
		// The broker refused what was written, and will again.
		return hopeless
	}
	// Everything else passes: connections, elections and restarts by
	// themselves; a topic that is missing, a right that was taken, a
	// certificate that ran out and even a password (brokers that restart
	// refuse good ones until they have read theirs) when somebody mends them.
	return retry
}

// mend says what lets a request through to these brokers that was not
// answered, in the settings' words. It begins with a colon, or is empty.
func mend(err error, brokers []string) string {
	var network *net.OpError
	var header tls.RecordHeaderError
	isNetwork := errors.As(err, &network)
	switch {
	case untrusted(err):
		return ": give the brokers' authority with stream.kafka.tls.ca_file, or the name in their certificate with stream.kafka.tls.server_name"
	case errors.Is(err, errAlien):
		return ": correct stream.kafka.brokers, or the broker's listener wants another stream.kafka.tls"
	case isNetwork && network.Op == "remote error": // a broker's last word over TLS
		return ": show the brokers a certificate that they trust, with stream.kafka.tls.cert_file and stream.kafka.tls.key_file"
	case errors.Is(err, kafkago.SASLAuthenticationFailed):
		return ": correct stream.kafka.sasl.username or stream.kafka.sasl.password, or make the brokers know that user"
	case errors.Is(err, kafkago.UnsupportedSASLMechanism):
		return ": set stream.kafka.sasl.mechanism to one that the brokers have enabled"
	case errors.Is(err, kafkago.IllegalSASLState):
		return ": nobody signs in at this listener: name another in stream.kafka.brokers, or leave stream.kafka.sasl out"
	case errors.As(err, &header), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		// A broker that is spoken to in another way than its listener's hangs
		// up without a word.
		return ": the broker is going down, or its listener wants another stream.kafka.tls or stream.kafka.sasl"
	case isNetwork && network.Op == "dial", errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return ": start the brokers (" + strings.Join(brokers, ", ") + "), or correct stream.kafka.brokers"
	}
	return ""
}

// untrusted reports whether a broker's certificate was not accepted.
func untrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	return errors.As(err, &verify) || errors.As(err, &authority)
}
