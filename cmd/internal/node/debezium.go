package node

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cache/freshet/cdc/debezium"
	"github.com/freshet-cache/freshet/cdc/kafka"
	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// connected is what a node has on top where a connector of Debezium ships the
// changes: what holds them back until they can be read.
type connected struct {
	barrier *debezium.Barrier
	primary debezium.Primary // nil: the source cannot be asked
	stream  *debezium.Stream
}

// connect returns nil where a relay ships the changes.
func connect(c *config.Config, source database) (*connected, error) {
	if c.Stream.Format != "debezium" {
		return nil, nil
	}
	lag := time.Duration(c.Stream.Debezium.VisibilityLag)
	if lag > 0 {
		return &connected{barrier: debezium.NewBarrier(lag)}, nil
	}
	primary, ok := source.(debezium.Primary)
	if !ok {
		return nil, errors.New("this source cannot be asked what is visible: give stream.debezium.visibility_lag")
	}
	return &connected{barrier: debezium.NewBarrier(0), primary: primary}, nil
}

// inFront puts the barrier in front of a source.
func (d *connected) inFront(source proxy.Source) proxy.Source {
	if d == nil {
		return source
	}
	return d.barrier.Stage(source)
}

// follows returns what the topics are followed by: the applier itself, or what
// holds a connector's records back in front of it.
func (n *Node) follows() kafka.Handler {
	d := n.connector
	if d == nil {
		return n.applier
	}
	o := &n.config.Stream.Debezium
	var covers string
	if d.primary != nil {
		var tables []string
		for _, u := range n.catalog.All() {
			tables = append(tables, u.Mapping.Table)
		}
		covers = postgres.Covers(tables)
	}
	d.stream = debezium.NewStream(d.primary, d.barrier, n.applier, debezium.StreamOptions{
		Decoder: debezium.Options{Catalog: n.catalog, CheckpointTable: o.CheckpointTable, Unavailable: o.Unavailable},
		Covers:  covers,
		Where:   func(partition int) (string, int) { return n.tail.Where(partition) },
	}, n.log)
	n.applier.OnMissing(d.barrier.Raise)
	return d.stream
}

// follow runs the tail, and what it drives: neither can end without the other.
func (n *Node) follow(ctx context.Context) error {
	if n.connector == nil {
		return n.tail.Run(ctx)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return n.tail.Run(ctx) })
	group.Go(func() error { return n.connector.stream.Run(ctx) })
	return group.Wait()
}

// partition names a partition of what is followed.
func (n *Node) partition(id int) string {
	if n.connector == nil {
		return "partition " + strconv.Itoa(id)
	}
	topic, number := n.tail.Where(id)
	return fmt.Sprintf("partition %d of topic %s", number, topic)
}

// connectorProblem says what a connector's stream lacks, or nothing.
func (n *Node) connectorProblem() string {
	if n.connector == nil {
		return ""
	}
	s := n.applier.Status()
	for i, p := range s.Partitions {
		if s.Lost == "" && p.Heard == 0 {
			return n.partition(i) + " has had no checkpoint row: the connector's heartbeat is missing, or more rows are needed, see freshet doctor --debezium"
		}
	}
	return n.connector.stream.Problem()
}
