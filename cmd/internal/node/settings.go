package node

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cache"
	"github.com/freshet-cache/freshet/cdc/kafka"
	pglog "github.com/freshet-cache/freshet/cdc/relay/postgres"
	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/command"
	"github.com/freshet-cache/freshet/proxy/resp"
	"github.com/freshet-cache/freshet/proxy/server"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// This file is where settings become the packages' options.

func specs(c *config.Config) []row.Spec {
	var out []row.Spec
	for _, u := range c.UseCases {
		out = append(out, row.Spec{Name: u.Name, Table: u.Table, Key: u.Key, Column: u.Column, ReadOnly: u.ReadOnly, Replica: u.ReadFrom == "replica"})
	}
	return out
}

func postgresOptions(c *config.Config) postgres.Options {
	p := &c.Source.Postgres
	o := postgres.Options{
		URL:              p.URL.Value(),
		Pool:             p.Pool,
		ConnectTimeout:   time.Duration(p.ConnectTimeout),
		AcquireTimeout:   time.Duration(p.AcquireTimeout),
		StatementTimeout: time.Duration(p.StatementTimeout),
		Horizons:         c.Stream.Format == "debezium",
	}
	for _, replica := range p.Replicas {
		o.Replicas = append(o.Replicas, replica.Value())
	}
	return o
}

func logOptions(c *config.Config) pglog.Options {
	return pglog.Options{
		URL:                c.Source.Postgres.URL.Value(),
		Slot:               c.Relay.Slot,
		Publication:        c.Relay.Publication,
		CheckpointInterval: time.Duration(c.Relay.CheckpointInterval),
		CheckpointTable:    slices.ContainsFunc(c.UseCases, func(u config.UseCase) bool { return u.ReadFrom == "replica" }),
		KeysOnly:           c.Relay.Values == "none",
		Failover:           c.Relay.FailoverSlot,
		ConnectTimeout:     time.Duration(c.Source.Postgres.ConnectTimeout),
	}
}

func cacheOptions(c *config.Config, catalog *proxy.Catalog) cache.Options {
	o := cache.Options{
		Bytes:        int64(c.Memory.Budget),
		AbsenceShare: float64(c.Memory.AbsentPart) / 100,
		UseCases:     make([]cache.UseCase, len(catalog.All())),
	}
	for _, u := range c.UseCases {
		// The cache takes 0 for its default; a nanosecond is the bound that no
		// hit can meet.
		bound := max(time.Duration(u.Bound), 1)
		o.UseCases[catalog.Named(u.Name).ID] = cache.UseCase{
			Bound:     bound,
			TTLMax:    time.Duration(u.TTLMax),
			MaxStale:  time.Duration(u.MaxStale),
			Timeout:   time.Duration(u.Timeout),
			NoRefresh: !u.RefreshAhead,
			MaxBytes:  int64(u.MaxBytes),
		}
	}
	return o
}

func kafkaOptions(c *config.Config) kafka.Options {
	k := &c.Stream.Kafka
	o := kafka.Options{
		Brokers:  k.Brokers,
		Topic:    k.Topic,
		ClientID: k.ClientID,
		TLS: kafka.TLS{
			Enabled: k.TLS.Enabled, CA: k.TLS.CAFile, Cert: k.TLS.CertFile, Key: k.TLS.KeyFile, ServerName: k.TLS.ServerName,
		},
		Replication: c.Relay.Replication,
		Retention:   time.Duration(c.Relay.Retention),
	}
	if c.Stream.Format == "debezium" {
		o.Topics = c.Stream.Debezium.Topics
	}
	if k.SASL.Mechanism != "none" {
		o.SASL = kafka.SASL{Mechanism: strings.ToUpper(k.SASL.Mechanism), User: k.SASL.Username, Password: k.SASL.Password.Value()}
	}
	return o
}

func commandOptions(c *config.Config) command.Options {
	strangers := &c.Node.BeforeAuth
	limits := resp.Limits{
		Args: c.Node.MaxArgs, BulkBytes: int(c.Node.MaxBulk), InlineBytes: int(c.Node.MaxInline),
		StrangerArgs: strangers.MaxArgs, StrangerBulkBytes: int(strangers.MaxBulk), StrangerInlineBytes: int(strangers.MaxInline),
	}.WithDefaults()
	limits.RequestBytes = max(limits.RequestBytes, 2*limits.BulkBytes)
	return command.Options{Limits: limits, Version: Version(), Settings: redisSettings(c)}
}

// redisSettings are those of Redis' settings that this node has a value of.
func redisSettings(c *config.Config) [][2]string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return [][2]string{
		{"maxmemory", number(int64(c.Memory.Budget))},
		{"maxclients", number(int64(maxClients(c, descriptors())))},
		{"timeout", number(int64(time.Duration(c.Node.IdleTimeout).Seconds()))},
		{"proto-max-bulk-len", number(int64(c.Node.MaxBulk))},
	}
}

func serverOptions(c *config.Config) server.Options {
	return server.Options{
		MaxConnections: maxClients(c, descriptors()),
		IdleTimeout:    time.Duration(c.Node.IdleTimeout),
		WriteTimeout:   time.Duration(c.Node.WriteTimeout),
		DrainTimeout:   time.Duration(c.Node.DrainTimeout),
		OutputBytes:    int(c.Node.MaxReplies),

		StrangerTimeout:     time.Duration(c.Node.BeforeAuth.Timeout),
		StrangerOutputBytes: int(c.Node.BeforeAuth.MaxReplies),
	}
}
