package config

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// Config is everything that can be set. The tags of a field are its
// declaration: yaml is the name, default the value it has if it is not given,
// min and max its limits, enum its choices, doc its meaning.
type Config struct {
	Node     Node      `yaml:"node" doc:"This node."`
	Memory   Memory    `yaml:"memory" doc:"What the cache may hold."`
	Source   Source    `yaml:"source" doc:"The database whose rows are cached."`
	Stream   Stream    `yaml:"stream" doc:"How the source's changes arrive."`
	Relay    Relay     `yaml:"relay" doc:"What ships the changes: used by \"freshet relay\" only."`
	UseCases []UseCase `yaml:"use_cases" doc:"The mapped tables. A use case's name is the prefix of its keys."`
	Users    []User    `yaml:"users" doc:"Who may connect, and do what. Without users, everybody who reaches node.listen may do everything."`
	Tier     Tier      `yaml:"tier" doc:"The nodes among which this one is: each key has an owner, and any node may be asked. It has one directory (members, dns, gossip or kubernetes); without, this node is alone."`
	Audit    Audit     `yaml:"audit" doc:"Compares what is cached with the source, off the request path."`
	Conform  Conform   `yaml:"conform" doc:"What \"freshet conform --config\" has to know of this deployment, and may do to it: not used by anything else."`

	where map[string]int // line of each setting that was given, by path
	file  string
}

// Node is what this process listens on, and its limits.
type Node struct {
	Listen        string     `yaml:"listen" default:"127.0.0.1:6400" doc:"Address for Redis clients."`
	Routing       string     `yaml:"routing" default:"forward" enum:"forward,redirect" doc:"Who answers for a key that another node owns: this node, which asks the owner, or, for clients of Redis Cluster, the owner, to which they are sent."`
	Listeners     []Listener `yaml:"listeners" doc:"More addresses for Redis clients."`
	Admin         string     `yaml:"admin" default:"127.0.0.1:6480" doc:"Address for /metrics, /healthz, /readyz and pprof. Keep it private."`
	MaxClients    int        `yaml:"max_clients" default:"10000" min:"1" max:"1000000" doc:"Connections at a time; one more is refused."`
	IdleTimeout   Duration   `yaml:"idle_timeout" default:"0s" min:"0s" doc:"A connection that sends nothing for this long is closed; 0s: never."`
	WriteTimeout  Duration   `yaml:"write_timeout" default:"10s" min:"10ms" doc:"A client that takes none of its replies for this long is disconnected."`
	MaxArgs       int        `yaml:"max_args" default:"1048576" min:"16" max:"16777216" doc:"Arguments of one request."`
	MaxBulk       Size       `yaml:"max_bulk" default:"16MiB" min:"1KiB" max:"512MiB" doc:"The longest argument a client may send."`
	MaxInline     Size       `yaml:"max_inline" default:"64KiB" min:"1KiB" max:"1MiB" doc:"The longest request that is a line of words."`
	MaxReplies    Size       `yaml:"max_replies" default:"64MiB" min:"64KiB" max:"4GiB" doc:"Replies held for one connection that does not read them."`
	DrainTimeout  Duration   `yaml:"drain_timeout" default:"10s" min:"0s" max:"10m" doc:"At the end, how long connections may finish what they have sent."`
	ProbeInterval Duration   `yaml:"probe_interval" default:"50ms" min:"5ms" max:"10s" doc:"How often the source's clock is read. Rarer widens the clock interval by 200 ppm."`
	Insecure      bool       `yaml:"insecure" default:"false" doc:"Listen where others can reach this node, though there are no users."`
	LogLevel      string     `yaml:"log_level" default:"info" enum:"debug,info,warn,error" doc:"The least level that is logged."`
	BeforeAuth    Stranger   `yaml:"before_auth" doc:"Limits of connections that have not authenticated yet, where there are users."`
}

// Stranger limits connections that have not said who they are.
type Stranger struct {
	Timeout    Duration `yaml:"timeout" default:"10s" min:"100ms" max:"1h" doc:"How long a connection may stay without authenticating."`
	MaxArgs    int      `yaml:"max_args" default:"10" min:"5" max:"1024" doc:"Arguments of one request."`
	MaxBulk    Size     `yaml:"max_bulk" default:"16KiB" min:"512B" max:"1MiB" doc:"The longest argument."`
	MaxInline  Size     `yaml:"max_inline" default:"16KiB" min:"512B" max:"64KiB" doc:"The longest request that is a line of words."`
	MaxReplies Size     `yaml:"max_replies" default:"64KiB" min:"4KiB" max:"1MiB" doc:"Replies held for one that does not read them."`
}

// Memory bounds what the cache holds.
type Memory struct {
	Budget     Size `yaml:"budget" default:"256MiB" min:"8MiB" max:"65536GiB" doc:"Entries of all use cases together."`
	AbsentPart int  `yaml:"absent_percent" default:"6" min:"1" max:"50" doc:"Share of the budget that cached absences (\"no such row\") may take."`
}

// Source is the database. Exactly one kind is set.
type Source struct {
	SQLite   SQLite   `yaml:"sqlite" doc:"A SQLite file on this machine."`
	Postgres Postgres `yaml:"postgres" doc:"A PostgreSQL database, version 15 or later."`
	Ramp     bool     `yaml:"ramp" default:"true" doc:"Let the reads of a cold cache begin few at a time, and grow while the source keeps up."`
}

// SQLite is a SQLite file.
type SQLite struct {
	Path    string `yaml:"path" doc:"The database file. A relative path starts at this file's folder. Required."`
	Readers int    `yaml:"readers" default:"4" min:"1" max:"256" doc:"Connections that read at the same time."`
}

// Postgres is a PostgreSQL database.
type Postgres struct {
	URL              Secret   `yaml:"url" doc:"The primary, as libpq takes it (postgres://USER:PASSWORD@HOST/DATABASE?sslmode=verify-full): ${NAME} or file:PATH. What it leaves out is found as libpq finds it (.pgpass, service files)."`
	Replicas         []Secret `yaml:"replicas" doc:"Standbys for the use cases that are read from a replica: a list of ${NAME} or file:PATH."`
	Pool             int      `yaml:"pool" default:"8" min:"1" max:"1000" doc:"Connections to each server."`
	ConnectTimeout   Duration `yaml:"connect_timeout" default:"2s" min:"10ms" max:"1m" doc:"How long making a connection may take."`
	AcquireTimeout   Duration `yaml:"acquire_timeout" default:"1s" min:"1ms" max:"1m" doc:"How long a read may wait for a connection."`
	StatementTimeout Duration `yaml:"statement_timeout" default:"5s" min:"10ms" max:"10m" doc:"How long one statement may run: the server ends it then."`
}

// Stream is how changes arrive.
type Stream struct {
	Format   string   `yaml:"format" default:"freshet" enum:"freshet,debezium" doc:"Whose records the topic has: those of \"freshet relay\", or Debezium's."`
	Kafka    Kafka    `yaml:"kafka" doc:"The Kafka cluster and topic."`
	Debezium Debezium `yaml:"debezium" doc:"What is to be known of a Debezium connector, with format: debezium."`
}

// Kafka is one topic of a cluster, and the way to it.
type Kafka struct {
	Brokers  []string `yaml:"brokers" default:"[127.0.0.1:9092]" doc:"Where to find the cluster first."`
	Topic    string   `yaml:"topic" default:"freshet" doc:"The topic of this source's changes. It must not be compacted."`
	ClientID string   `yaml:"client_id" default:"freshet" doc:"The name by which the brokers log this process, and by which quotas can be given."`
	TLS      TLS      `yaml:"tls" doc:"Encryption towards the brokers."`
	SASL     SASL     `yaml:"sasl" doc:"Authentication towards the brokers."`
}

// TLS is encryption towards a server.
type TLS struct {
	Enabled    bool   `yaml:"enabled" default:"false" doc:"Whether to use TLS."`
	CAFile     string `yaml:"ca_file" doc:"Certificates to trust, PEM; none: the system's."`
	CertFile   string `yaml:"cert_file" doc:"This client's certificate, PEM, if the server asks for one."`
	KeyFile    string `yaml:"key_file" doc:"The certificate's key, PEM."`
	ServerName string `yaml:"server_name" doc:"The name to check in the server's certificate; none: the host dialled."`
}

// SASL is authentication towards a server.
type SASL struct {
	Mechanism string `yaml:"mechanism" default:"none" enum:"none,plain,scram-sha-256,scram-sha-512" doc:"How to authenticate."`
	Username  string `yaml:"username" doc:"The user."`
	Password  Secret `yaml:"password" doc:"The user's password: ${NAME} or file:PATH."`
}

// Relay ships the source's changes to the stream.
type Relay struct {
	Slot               string   `yaml:"slot" default:"freshet" doc:"The name of this relay's slot: part of the stream's identity. In PostgreSQL, the replication slot."`
	Publication        string   `yaml:"publication" default:"freshet" doc:"PostgreSQL: the publication that has the mapped tables. It is made if it is not there and rights allow."`
	Values             string   `yaml:"values" default:"full" enum:"full,none" doc:"Whether rows go to Kafka, or their keys only: a change then drops an entry and cannot replace it."`
	FailoverSlot       bool     `yaml:"failover_slot" default:"false" doc:"PostgreSQL 17: make the slot one that standbys keep up, so that a promotion finds it."`
	CheckpointInterval Duration `yaml:"checkpoint_interval" default:"100ms" min:"5ms" max:"1m" doc:"How often each partition gets a checkpoint: the floor of what bounds can be kept by the stream."`
	PollInterval       Duration `yaml:"poll_interval" default:"5ms" min:"1ms" max:"10s" doc:"How often the source is asked for changes."`
	Partitions         int      `yaml:"partitions" default:"4" min:"1" max:"4096" doc:"Partitions of the topic, if it is not there and is made. Another number later is another stream: every node starts empty."`
	Replication        int      `yaml:"replication" default:"0" min:"0" max:"32" doc:"Replicas of a topic that is made; 0: the brokers' own default."`
	Retention          Duration `yaml:"retention" default:"24h" min:"1m" doc:"How long a topic that is made keeps records: more than the longest stall of a node."`
	Admin              string   `yaml:"admin" default:"127.0.0.1:6481" doc:"Address of the relay's own /metrics, /healthz and pprof."`
}

// UseCase is one mapped table.
type UseCase struct {
	Name          string   `yaml:"name" doc:"The keys' prefix: letters, digits, \"_\", \"-\" and \".\". Required."`
	Table         string   `yaml:"table" doc:"The table. Required."`
	Key           []string `yaml:"key" doc:"Key columns in the order of the key's parts: the primary key, or any unique index of NOT NULL columns. None: the primary key."`
	Column        string   `yaml:"column" doc:"The column GET gives; none: the whole row, as JSON and by the hash commands."`
	ReadFrom      string   `yaml:"read_from" default:"primary" enum:"primary,replica" doc:"PostgreSQL: where entries are read. Those from a replica live for the bound and no longer, and sessions and tokens are not kept."`
	ReadOnly      bool     `yaml:"read_only" default:"false" doc:"Refuse writes."`
	Bound         Duration `yaml:"bound" default:"2s" min:"0s" max:"24h" doc:"How old an answer may be. 0s: as fresh as a read of the source."`
	TTLMax        Duration `yaml:"ttl_max" default:"24h" min:"1s" doc:"The longest life of an entry, whatever the stream says."`
	OnUnavailable string   `yaml:"on_unavailable" default:"error" enum:"error,stale" doc:"When the source cannot be read in time: an error, or an entry up to max_stale old, marked as outside the bound."`
	MaxStale      Duration `yaml:"max_stale" default:"0s" min:"0s" doc:"For on_unavailable: stale. At least the bound."`
	MaxBytes      Size     `yaml:"max_bytes" default:"0" min:"0" doc:"Memory of this use case's own, taken from the budget; 0: it shares what the others leave."`
	RefreshAhead  bool     `yaml:"refresh_ahead" default:"true" doc:"Refill hot entries at 0.8 of the bound while the stream does not carry them."`
	Timeout       Duration `yaml:"timeout" default:"1s" min:"1ms" max:"1m" doc:"How long one read of the source may take."`
}

// Default returns a configuration in which every setting has its default.
// Settings without one (a source, use cases) are still to be given.
func Default() *Config {
	c := &Config{}
	setDefaults(reflect.ValueOf(c).Elem())
	return c
}

// DefaultUseCase returns a use case of that name in which every other setting
// has its default.
func DefaultUseCase(name string) UseCase {
	var u UseCase
	setDefaults(reflect.ValueOf(&u).Elem())
	u.Name = name
	return u
}

// Load reads, checks and completes a configuration file.
func Load(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w; name a configuration that can be read", err)
	}
	return Parse(path, data, os.LookupEnv)
}

// Parse is Load of what has been read from path, with the environment given by
// lookup.
func Parse(path string, data []byte, lookup func(string) (string, bool)) (*Config, error) {
	c, err := decode(path, data)
	if err != nil {
		return nil, err
	}
	for at, secret := range c.secrets() {
		if err := secret.read(filepath.Dir(path), lookup); err != nil {
			return nil, c.errorf(at, "%w", err)
		}
	}
	var errs []error
	c.Tier.fromEnvironment(lookup, func(path, format string, args ...any) { errs = append(errs, c.errorf(path, format, args...)) })
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return c, nil
}

// secrets walks all settings that refer to one.
func (c *Config) secrets() iter.Seq2[string, *Secret] {
	return func(yield func(string, *Secret) bool) {
		if !yield("stream.kafka.sasl.password", &c.Stream.Kafka.SASL.Password) || !yield("source.postgres.url", &c.Source.Postgres.URL) || !yield("tier.key", &c.Tier.Key) {
			return
		}
		for i := range c.Source.Postgres.Replicas {
			if !yield(fmt.Sprintf("source.postgres.replicas[%d]", i), &c.Source.Postgres.Replicas[i]) {
				return
			}
		}
		for i := range c.Users {
			if !yield(fmt.Sprintf("users[%d].password", i), &c.Users[i].Password.Secret) {
				return
			}
		}
	}
}

// decode is Parse without the secrets: it reads nothing but data.
func decode(path string, data []byte) (*Config, error) {
	c := Default()
	d := &decoder{file: path, where: map[string]int{}}
	d.document(data, reflect.ValueOf(c).Elem())
	c.file, c.where = path, d.where
	if len(d.errs) > 0 {
		return nil, errors.Join(d.errs...)
	}
	c.resolve(filepath.Dir(path))
	return c, c.Validate()
}

// resolve makes paths that are relative to the configuration's folder
// relative to the working one.
func (c *Config) resolve(dir string) {
	broker, peer, kubernetes := &c.Stream.Kafka.TLS, &c.Tier.TLS, &c.Tier.Kubernetes
	for _, p := range []*string{
		&c.Source.SQLite.Path, &broker.CAFile, &broker.CertFile, &broker.KeyFile,
		&peer.CAFile, &peer.CertFile, &peer.KeyFile, &kubernetes.TokenFile, &kubernetes.CAFile,
	} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
}

// errorf is an error about the setting at path, with file and line: its own,
// or that of what it belongs to if it was not given.
func (c *Config) errorf(path, format string, args ...any) error {
	err := fmt.Errorf("%s: "+format, append([]any{path}, args...)...)
	for at := path; at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		if line := c.where[at]; line > 0 {
			return fmt.Errorf("%s:%d: %w", c.file, line, err)
		}
	}
	if c.file != "" {
		return fmt.Errorf("%s: %w", c.file, err)
	}
	return err
}
