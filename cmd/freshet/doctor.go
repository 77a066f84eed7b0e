package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/doctor"
)

// statuses are what freshet doctor exits with, by the worst that it found.
var statuses = map[doctor.Level]int{doctor.Warning: 3, doctor.Error: 1}

func examine(ctx context.Context, args []string, stdout, _ io.Writer) error {
	f := flags("doctor", "--config FILE [flags]", stdout)
	var o doctor.Options
	file := f.String("config", "", "the configuration of the nodes; that of the relay, if its user is another, is a second look")
	f.DurationVar(&o.Watch, "watch", 10*time.Second, "how long the topics are watched, to measure the stream; 0s: not at all")
	f.DurationVar(&o.Outage, "outage", time.Hour, "the longest for which a node, a relay or Kafka is planned to be away")
	nodes := f.String("node", "", "admin ports of running nodes, with commas between them; none: node.admin")
	relays := f.String("relay", "", "admin ports of running relays, with commas between them; none: relay.admin")
	f.StringVar(&o.Connect, "connect", "", "Debezium: URL of Kafka Connect's REST interface")
	f.StringVar(&o.Connector, "connector", "", "Debezium: file of a connector's settings, JSON or properties, instead")
	plan := f.Bool("debezium", false, "print what a connector has to be told: SQL and settings")
	topics := f.String("topics", "", "with --debezium: the topics, with commas between them; none: stream.debezium.topics")
	asJSON := f.Bool("json", false, "print JSON")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	switch {
	case *file == "":
		return &usageError{"doctor: --config FILE is required"}
	case o.Watch < 0 || o.Watch > time.Hour:
		return &usageError{"doctor: --watch is from 0s to 1h"}
	case o.Outage <= 0:
		return &usageError{"doctor: --outage is more than 0s"}
	case o.Connect != "" && o.Connector != "":
		return &usageError{"doctor: --connect and --connector say the same; give one"}
	case *topics != "" && !*plan:
		return &usageError{"doctor: --topics goes with --debezium"}
	}
	c, err := config.Load(*file)
	if err != nil {
		return err
	}
	if *nodes != "" {
		o.Nodes = strings.Split(*nodes, ",")
	}
	if *relays != "" {
		o.Relays = strings.Split(*relays, ",")
	}
	if *plan {
		return plans(ctx, c, o, *topics, *asJSON, stdout)
	}
	r := doctor.Examine(doctor.Gather(ctx, c, o))
	write := r.Text
	if *asJSON {
		write = r.JSON
	}
	if err := write(stdout); err != nil {
		return err
	}
	if s := statuses[r.Verdict]; s != 0 {
		return &verdictError{s}
	}
	return nil
}

// plans prints what connectors have to be told.
func plans(ctx context.Context, c *config.Config, o doctor.Options, topics string, asJSON bool, stdout io.Writer) error {
	if topics != "" {
		c.Stream.Format, c.Stream.Debezium.Topics = "debezium", strings.Split(topics, ",")
	}
	o.Watch = 0
	all, err := doctor.Plans(doctor.Gather(ctx, c, o))
	if err != nil {
		return err
	}
	for _, p := range all {
		write := p.Text
		if asJSON {
			write = p.JSON
		}
		if err := write(stdout); err != nil {
			return err
		}
	}
	return nil
}
