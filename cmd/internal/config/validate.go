package config

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
)

var (
	useCaseName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	slotName    = regexp.MustCompile(`^[a-z0-9_]{1,63}$`)       // PostgreSQL's own rule
	topicName   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,249}$`) // Kafka's own rule
)

// Validate checks what no single setting shows. It returns all errors, joined.
func (c *Config) Validate() error {
	var errs []error
	bad := func(path, format string, args ...any) { errs = append(errs, c.errorf(path, format, args...)) }
	c.validateNode(bad)
	c.validateSource(bad)
	c.validateStream(bad)
	c.validateUseCases(bad)
	c.validateUsers(bad)
	c.validateTier(bad)
	c.validateDebezium(bad)
	c.validateConform(bad)
	return errors.Join(errs...)
}

type reporter func(path, format string, args ...any)

func (c *Config) validateNode(bad reporter) {
	c.validateListeners(bad)
	for _, a := range []struct{ path, value string }{{"node.admin", c.Node.Admin}, {"relay.admin", c.Relay.Admin}} {
		if err := checkAddress(a.value); err != nil {
			bad(a.path, "%w", err)
		}
	}
}

// validateSource sees to it that there is one source, and that what only one
// kind of source has is not asked of the other.
func (c *Config) validateSource(bad reporter) {
	sqlite, postgres := c.Source.SQLite.Path != "", c.Source.Postgres.URL.Given()
	switch {
	case sqlite && postgres:
		bad("source", "both a SQLite file and a PostgreSQL database are given; keep one")
	case !sqlite && !postgres:
		bad("source", "is required; name a database with sqlite.path or postgres.url")
	}
	if !postgres && len(c.Source.Postgres.Replicas) > 0 {
		bad("source.postgres.replicas", "are given, but no primary; give postgres.url too")
	}
	for i, r := range c.Source.Postgres.Replicas {
		if !r.Given() {
			bad(fmt.Sprintf("source.postgres.replicas[%d]", i), "is empty; write ${NAME} or file:PATH, or remove it")
		}
	}
	for i, u := range c.UseCases {
		if u.ReadFrom == "replica" && len(c.Source.Postgres.Replicas) == 0 {
			bad(fmt.Sprintf("use_cases[%d].read_from", i), "is replica, but source.postgres.replicas is empty; name a standby there or read from the primary")
		}
		// Whoever writes through a use case may read it again: a replica
		// does not have the write yet.
		if u.ReadFrom == "replica" && !u.ReadOnly {
			bad(fmt.Sprintf("use_cases[%d].read_from", i), "is replica, which takes no writes; set read_only: true, and write through another use case")
		}
	}
	c.validateRelay(postgres, bad)
}

func (c *Config) validateRelay(postgres bool, bad reporter) {
	r := &c.Relay
	if postgres && !slotName.MatchString(r.Slot) {
		bad("relay.slot", `%q is no name of a slot; use up to 63 lower-case letters, digits and "_"`, r.Slot)
	}
	if postgres && (r.Publication == "" || len(r.Publication) > 63) {
		bad("relay.publication", "%q is no name of a publication; use up to 63 bytes", r.Publication)
	}
	if !postgres && r.FailoverSlot {
		bad("relay.failover_slot", "is for PostgreSQL; remove it")
	}
	if !postgres && r.Values != "full" {
		bad("relay.values", "is %s, which is for PostgreSQL; remove it", r.Values)
	}
}

func (c *Config) validateStream(bad reporter) {
	k := &c.Stream.Kafka
	if len(k.Brokers) == 0 {
		bad("stream.kafka.brokers", "is empty; name at least one broker as HOST:PORT")
	}
	for i, b := range k.Brokers {
		if err := checkAddress(b); err != nil {
			bad(fmt.Sprintf("stream.kafka.brokers[%d]", i), "%w", err)
		}
	}
	if !topicName.MatchString(k.Topic) || k.Topic == "." || k.Topic == ".." {
		bad("stream.kafka.topic", `%q is no topic's name; use letters, digits, ".", "_" and "-"`, k.Topic)
	}
	if (k.TLS.CertFile == "") != (k.TLS.KeyFile == "") {
		bad("stream.kafka.tls", "cert_file and key_file belong together; give both or none")
	}
	if !k.TLS.Enabled && (k.TLS.CAFile != "" || k.TLS.CertFile != "" || k.TLS.ServerName != "") {
		bad("stream.kafka.tls", "files or a name are given, but TLS is off; set enabled: true or remove them")
	}
	authenticates := k.SASL.Mechanism != "none"
	if authenticates && (k.SASL.Username == "" || !k.SASL.Password.Given()) {
		bad("stream.kafka.sasl", "%s needs username and password; give both", k.SASL.Mechanism)
	}
	if !authenticates && (k.SASL.Username != "" || k.SASL.Password.Given()) {
		bad("stream.kafka.sasl", "a user is given, but mechanism is none; set mechanism or remove them")
	}
}

func (c *Config) validateUseCases(bad reporter) {
	if len(c.UseCases) == 0 {
		bad("use_cases", "is empty; map at least one table")
	}
	seen := map[string]int{}
	for i, u := range c.UseCases {
		at := func(setting string) string { return fmt.Sprintf("use_cases[%d].%s", i, setting) }
		if !useCaseName.MatchString(u.Name) {
			bad(at("name"), `%q is no name; use 1 to 64 letters, digits, "_", "-" and "."`, u.Name)
		}
		if first, twice := seen[u.Name]; twice {
			bad(at("name"), "use case %q is defined twice, first as use_cases[%d]; rename one", u.Name, first)
		}
		seen[u.Name] = i
		if u.Table == "" {
			bad(at("table"), "is required; name the table of use case %q", u.Name)
		}
		for j, column := range u.Key {
			if column == "" || slices.Contains(u.Key[:j], column) {
				bad(at("key"), "column %q is empty or given twice; name each key column once", column)
			}
		}
		validateLimits(at, &u, bad)
	}
	c.validateMemory(bad)
}

// validateMemory sees to it that what use cases have for themselves leaves
// something to the others, and to cached absences.
func (c *Config) validateMemory(bad reporter) {
	var own Size
	for i, u := range c.UseCases {
		if own += u.MaxBytes; u.MaxBytes > c.Memory.Budget || own > c.Memory.Budget/10*9 {
			bad(fmt.Sprintf("use_cases[%d].max_bytes", i), "%s and what stands above it are more than nine tenths of memory.budget, %s; lower one or raise that", u.MaxBytes, c.Memory.Budget)
			return
		}
	}
}

func validateLimits(at func(string) string, u *UseCase, bad reporter) {
	if u.TTLMax < u.Bound {
		bad(at("ttl_max"), "%s is less than the bound of %s; raise it", u.TTLMax, u.Bound)
	}
	if u.OnUnavailable == "stale" && u.MaxStale < u.Bound {
		bad(at("max_stale"), "%s is less than the bound of %s; say how old an answer may be while the source is away", u.MaxStale, u.Bound)
	}
	if u.OnUnavailable != "stale" && u.MaxStale != 0 {
		bad(at("max_stale"), "has no effect with on_unavailable: %s; set that to stale or remove this", u.OnUnavailable)
	}
}

func checkAddress(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("%q is no address; write HOST:PORT, such as 127.0.0.1:6400", s)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q has no port between 0 and 65535; write HOST:PORT", s)
	}
	return nil
}

// anyPort reports whether the system is to choose the port.
func anyPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port == "0"
}
