package node

import (
	"github.com/freshet-cache/freshet/cdc/kafka"
	pglog "github.com/freshet-cache/freshet/cdc/relay/postgres"
	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Reach is how nodes and relays of a configuration reach what it names, for who
// looks at that without being one.
type Reach struct {
	Specs    []row.Spec
	Postgres postgres.Options
	Log      pglog.Options
	Kafka    kafka.Options
}

// ReachOf returns the reach of a configuration.
func ReachOf(c *config.Config) Reach {
	return Reach{Specs: specs(c), Postgres: postgresOptions(c), Log: logOptions(c), Kafka: kafkaOptions(c)}
}
