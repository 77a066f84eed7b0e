package config

import (
	"fmt"
	"slices"
)

// Debezium is what is to be known of a connector and of its topics.
type Debezium struct {
	Topics          []string `yaml:"topics" doc:"The topics of the mapped tables: they take the place of stream.kafka.topic. Required."`
	CheckpointTable string   `yaml:"checkpoint_table" default:"freshet_checkpoint" doc:"The table whose rows are the checkpoints. With several topics there is one for each, and the names of all begin so."`
	Unavailable     string   `yaml:"unavailable" default:"__debezium_unavailable_value" doc:"What the connector puts in the place of a value that it does not have (unavailable.value.placeholder)."`
	VisibilityLag   Duration `yaml:"visibility_lag" default:"0s" min:"0s" max:"1h" doc:"For a source that cannot be asked which transactions are visible: the longest time from a commit's record until its rows can be read."`
}

func (c *Config) validateDebezium(bad reporter) {
	d := &c.Stream.Debezium
	if c.Stream.Format != "debezium" {
		if len(d.Topics) > 0 {
			bad("stream.debezium", "topics are given, but stream.format is %s; set format: debezium or remove them", c.Stream.Format)
		}
		return
	}
	if len(d.Topics) == 0 {
		bad("stream.debezium.topics", "is empty; name the topics that the connector writes the mapped tables to")
	}
	for i, topic := range d.Topics {
		at := fmt.Sprintf("stream.debezium.topics[%d]", i)
		if !topicName.MatchString(topic) {
			bad(at, `%q is no topic's name; use letters, digits, ".", "_" and "-"`, topic)
		}
		if slices.Contains(d.Topics[:i], topic) {
			bad(at, "%q is given twice; name each topic once", topic)
		}
	}
	if d.CheckpointTable == "" {
		bad("stream.debezium.checkpoint_table", "is empty; name the table whose rows are the checkpoints")
	}
	postgres := c.Source.Postgres.URL.Given()
	if postgres && d.VisibilityLag > 0 {
		bad("stream.debezium.visibility_lag", "is for a source that cannot be asked what is visible, and PostgreSQL can; remove it")
	}
	if !postgres && d.VisibilityLag == 0 {
		bad("stream.debezium.visibility_lag", "is required, as this source cannot be asked what is visible; say how long it takes at most until a change that is in the stream can be read")
	}
}
