package doctor

import (
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/kafka"
	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/doctor/pipeline"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// Facts is everything that is known of a deployment. What could not be reached
// has its error, and what was not looked at is nil.
type Facts struct {
	Config *config.Config
	Outage time.Duration // the longest that is planned for

	Database   *postgres.Facts
	Reached    error // why there is none
	File       *File
	Accepted   error // what a node says of the source, whatever the facts show
	Shippable  error // likewise a relay
	Replicas   []Replica
	Clock      Clock
	Topics     []Topic
	Nodes      []Endpoint
	Relays     []Endpoint
	Connectors []Connector
	Connect    error // why there is none
}

// File is a SQLite file.
type File struct {
	Installed bool // a relay has put its outbox there
	Backlog   int  // changes that are not in Kafka yet
}

// Replica is a standby that use cases read.
type Replica struct {
	Facts *postgres.ReplicaFacts
	Err   error
}

// Clock is what is known of the source's clock from here.
type Clock struct {
	Known  bool
	Err    error
	Offset time.Duration // of the source's clock from this machine's
	Width  time.Duration // of the interval in which it stands
	Source proxy.Identity
}

// Topic is one topic of the stream.
type Topic struct {
	Name   string
	Facts  *kafka.Facts
	Err    error
	Stream *Stream // nil: not watched
}

// Stream is what came by while a topic was watched.
type Stream struct {
	Watched     time.Duration
	Waiting     string // why it was not followed at the end
	Gap         string // why it had to be taken up anew in between
	Partitions  int
	Records     int
	Checkpoints int
	Bytes       int64 // of the partition that had most
	Undecodable int
	Reason      string // of the last one that could not be decoded
	Last        *event.StreamID
	Streams     int   // how many different ones wrote meanwhile
	Turns       int   // how often another one wrote than before, in one partition
	Silent      []int // partitions without a checkpoint
	Future      int   // checkpoints whose time was still to come
	Samples     int
	Median      time.Duration
	Pipeline    pipeline.Pipeline
}

// Endpoint is what an admin port answers.
type Endpoint struct {
	Address  string
	Err      error
	Ready    bool
	Problems []string
	Metrics  Metrics
}

// Connector is a connector of Kafka Connect.
type Connector struct {
	Name   string
	From   string // where its settings were found
	Config map[string]string
	State  string // of it and its tasks; "": not known
	Trace  string // what a failed one says
}

// debezium reports whether the topics are a connector's.
func (f *Facts) debezium() bool { return f.Config.Stream.Format == "debezium" }

// writer is who writes the stream, in the words of findings.
func (f *Facts) writer() string { return ifElse(f.debezium(), "the connector", "the relay") }

// postgres reports whether the source is one of PostgreSQL.
func (f *Facts) postgres() bool { return f.Config.Source.Postgres.URL.Given() }
