package kafka

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// Options says where the topic is and how it is followed and written. Zero
// means the default; Brokers and Topic, or Topics, have none.
type Options struct {
	Brokers  []string // host:port of some brokers; the others are found through them
	Topic    string   // one topic per source
	Topics   []string // what a Tail follows instead, as one; default: Topic
	ClientID string   // as brokers log it; default "freshet"
	TLS      TLS
	SASL     SASL

	// DialTimeout bounds making a connection, TLS and SASL included. Default
	// 1s: a broker that accepts and never answers costs that much.
	DialTimeout time.Duration
	// AnswerTimeout is how long after a broker should have answered it is
	// given up: how long silence goes unnoticed. Default 1s.
	AnswerTimeout time.Duration
	// MetadataTTL is how old the known leaders may be: how long a moved
	// leader is not found. Default 500ms.
	MetadataTTL time.Duration

	// MaxWait is how long a broker may hold a fetch that has nothing to
	// bring. Records never wait for it. Default 100ms.
	MaxWait time.Duration
	// FetchMaxBytes bounds one answer of one broker. Default 16 MiB.
	FetchMaxBytes int
	// PartitionMaxBytes bounds one partition's part of an answer. A larger
	// batch still arrives, alone. Default 1 MiB.
	PartitionMaxBytes int

	// Compression of produced batches: none, gzip, snappy, lz4, zstd. Default
	// lz4.
	Compression string
	// BatchMaxBytes bounds the values of one produced batch before
	// compression; a single larger value travels alone. It must stay below
	// the topic's max.message.bytes. Default 512 KiB.
	BatchMaxBytes int
	// ProduceTimeout is how long one attempt to append may take. Default 5s.
	ProduceTimeout time.Duration

	// Replication of a topic that is created. Default: the brokers' own.
	Replication int
	// Retention of a topic that is created. It needs to outlast the longest
	// stall of a node; a new node starts at the end. Default 24h.
	Retention time.Duration
}

// TLS says how brokers are spoken to in private.
type TLS struct {
	Enabled    bool   // the settings below imply it
	CA         string // file with the authorities to trust; default: the system's
	Cert       string // file with the certificate shown to brokers, with Key
	Key        string // file with its private key
	ServerName string // name expected in a broker's certificate; default: its host
}

// SASL says who this is. The zero SASL is nobody.
type SASL struct {
	Mechanism string // PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
	User      string
	Password  string
}

func (o Options) withDefaults() Options {
	o.ClientID = cmp.Or(o.ClientID, "freshet")
	o.DialTimeout = cmp.Or(o.DialTimeout, time.Second)
	o.AnswerTimeout = cmp.Or(o.AnswerTimeout, time.Second)
	o.MetadataTTL = cmp.Or(o.MetadataTTL, 500*time.Millisecond)
	o.MaxWait = cmp.Or(o.MaxWait, 100*time.Millisecond)
	o.FetchMaxBytes = cmp.Or(o.FetchMaxBytes, 16<<20)
	o.PartitionMaxBytes = cmp.Or(o.PartitionMaxBytes, 1<<20)
	o.Compression = cmp.Or(o.Compression, "lz4")
	o.BatchMaxBytes = cmp.Or(o.BatchMaxBytes, 512<<10)
	o.ProduceTimeout = cmp.Or(o.ProduceTimeout, 5*time.Second)
	o.Replication = cmp.Or(o.Replication, -1)
	o.Retention = cmp.Or(o.Retention, 24*time.Hour)
	return o
}

func (o Options) topics() []string {
	if len(o.Topics) > 0 {
		return o.Topics
	}
	return []string{o.Topic}
}

// check reports what no default can mend.
func (o Options) check() error {
	switch {
	case len(o.Brokers) == 0:
		return errors.New("kafka: no brokers given")
	case slices.Contains(o.topics(), ""):
		return errors.New("kafka: no topic given")
	case o.DialTimeout < 0 || o.AnswerTimeout < 0 || o.MetadataTTL < 0 || o.ProduceTimeout < 0 || o.Retention < 0:
		return errors.New("kafka: a timeout is negative")
	case o.MaxWait < time.Millisecond:
		return errors.New("kafka: max_wait is below 1ms")
	case o.FetchMaxBytes < 0 || o.PartitionMaxBytes < 0 || o.BatchMaxBytes < 0:
		return errors.New("kafka: a size is negative")
	case o.FetchMaxBytes > 1<<30 || o.PartitionMaxBytes > 1<<30:
		return errors.New("kafka: a fetch is above 1 GiB")
	}
	return nil
}

func (o Options) compression() (compress.Compression, error) {
	var c compress.Compression
	if err := c.UnmarshalText([]byte(o.Compression)); err != nil {
		return 0, fmt.Errorf("kafka: compression: %w", err)
	}
	return c, nil
}

// config reads the files; nil means plain TCP.
func (t TLS) config() (*tls.Config, error) {
	if t == (TLS{}) {
		return nil, nil
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: t.ServerName,
	}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("kafka: tls.ca_file: %w; name a PEM file that can be read", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("kafka: tls.ca_file: no certificate in %s; name a PEM file with some", t.CA)
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("kafka: tls.cert_file and tls.key_file: %w; name the PEM files of one certificate", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// mechanism returns nil where nobody signs in.
func (s SASL) mechanism() (sasl.Mechanism, error) {
	switch s.Mechanism {
	case "":
		if s != (SASL{}) {
			return nil, errors.New("kafka: sasl has a user or password, but no mechanism")
		}
		return nil, nil
	case "PLAIN":
		return plain.Mechanism{Username: s.User, Password: s.Password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, s.User, s.Password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, s.User, s.Password)
	}
	return nil, fmt.Errorf("kafka: sasl mechanism %q is none of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512", s.Mechanism)
}
