package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// Options says where the topic is and how it is followed and written. Zero
// means the default; Brokers and Topic have none.
type Options struct {
	Brokers  []string `yaml:"brokers"`   // host:port of some brokers; the others are found through them
	Topic    string   `yaml:"topic"`     // one topic per source
	ClientID string   `yaml:"client_id"` // as brokers log it; default "freshet"
	TLS      TLS      `yaml:"tls"`
	SASL     SASL     `yaml:"sasl"`

	// DialTimeout bounds making a connection, TLS and SASL included. Default
	// 1s: a broker that accepts and never answers costs that much.
	DialTimeout time.Duration `yaml:"dial_timeout"`
	// AnswerTimeout is how long after a broker should have answered it is
	// given up: how long silence goes unnoticed. Default 1s.
	AnswerTimeout time.Duration `yaml:"answer_timeout"`
	// MetadataTTL is how old the known leaders may be: how long a moved
	// leader is not found. Default 500ms.
	MetadataTTL time.Duration `yaml:"metadata_ttl"`

	// MaxWait is how long a broker may hold a fetch that has nothing to
	// bring. Records never wait for it. Default 100ms.
	MaxWait time.Duration `yaml:"max_wait"`
	// FetchMaxBytes bounds one answer of one broker. Default 16 MiB.
	FetchMaxBytes int `yaml:"fetch_max_bytes"`
	// PartitionMaxBytes bounds one partition's part of an answer. A larger
	// batch still arrives, alone. Default 1 MiB.
	PartitionMaxBytes int `yaml:"partition_max_bytes"`

	// Compression of produced batches: none, gzip, snappy, lz4, zstd. Default
	// lz4.
	Compression string `yaml:"compression"`
	// BatchMaxBytes bounds the values of one produced batch before
	// compression; a single larger value travels alone. It must stay below
	// the topic's max.message.bytes. Default 512 KiB.
	BatchMaxBytes int `yaml:"batch_max_bytes"`
	// ProduceTimeout is how long one attempt to append may take. Default 5s.
	ProduceTimeout time.Duration `yaml:"produce_timeout"`

	// Logger is where a Producer says that it waits. Default: nowhere.
	Logger *slog.Logger `yaml:"-"`

	// Replication of a topic that is created. Default: the brokers' own.
	Replication int `yaml:"replication"`
	// Retention of a topic that is created. It needs to outlast the longest
	// stall of a node; a new node starts at the end. Default 24h.
	Retention time.Duration `yaml:"retention"`
}

// TLS says how brokers are spoken to in private.
type TLS struct {
	Enabled    bool   `yaml:"enabled"`     // the settings below imply it
	CA         string `yaml:"ca"`          // file with the authorities to trust; default: the system's
	Cert       string `yaml:"cert"`        // file with the certificate shown to brokers, with Key
	Key        string `yaml:"key"`         // file with its private key
	ServerName string `yaml:"server_name"` // name expected in a broker's certificate; default: its host
	Insecure   bool   `yaml:"insecure"`    // accept any certificate: for trials only
}

// SASL says who this is. The zero SASL is nobody.
type SASL struct {
	Mechanism string `yaml:"mechanism"` // PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
	User      string `yaml:"user"`
	Password  string `yaml:"password"`
}

func (o Options) withDefaults() Options {
	def(&o.ClientID, "freshet")
	def(&o.DialTimeout, time.Second)
	def(&o.AnswerTimeout, time.Second)
	def(&o.MetadataTTL, 500*time.Millisecond)
	def(&o.MaxWait, 100*time.Millisecond)
	def(&o.FetchMaxBytes, 16<<20)
	def(&o.PartitionMaxBytes, 1<<20)
	def(&o.Compression, "lz4")
	def(&o.BatchMaxBytes, 512<<10)
	def(&o.ProduceTimeout, 5*time.Second)
	def(&o.Replication, -1)
	def(&o.Retention, 24*time.Hour)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func def[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

// check reports what no default can mend.
func (o Options) check() error {
	switch {
	case len(o.Brokers) == 0:
		return errors.New("kafka: no brokers given")
	case o.Topic == "":
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
		MinVersion:         tls.VersionTLS12,
		ServerName:         t.ServerName,
		InsecureSkipVerify: t.Insecure,
	}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("kafka: tls.ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("kafka: tls.ca: no certificate in %q", t.CA)
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("kafka: tls.cert and tls.key: %w", err)
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
