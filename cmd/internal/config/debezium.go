package config

// Debezium is what is to be known of a connector and of its topics.
type Debezium struct {
	Topics          []string `yaml:"topics" doc:"The topics of the mapped tables: they take the place of kafka.topic. Required."`
	CheckpointTable string   `yaml:"checkpoint_table" default:"freshet_checkpoint" doc:"The table whose rows are the checkpoints. With several topics there is one for each, and the names of all begin so."`
	Unavailable     string   `yaml:"unavailable" default:"__debezium_unavailable_value" doc:"What the connector puts in the place of a value that it does not have (unavailable.value.placeholder)."`
	VisibilityLag   Duration `yaml:"visibility_lag" default:"0s" min:"0s" max:"1h" doc:"For a source that cannot be asked which transactions are visible: the longest time from a commit's record until its rows can be read."`
}

func (c *Config) validateDebezium(bad reporter) {
	d := &c.Stream.Debezium
	switch {
	case c.Stream.Format != "debezium" && len(d.Topics) > 0:
		bad("stream.debezium", "topics are given, but stream.format is %s; set format: debezium or remove them", c.Stream.Format)
	case c.Stream.Format == "debezium" && len(d.Topics) == 0:
		bad("stream.debezium.topics", "is empty; name the topics that the connector writes the mapped tables to")
	}
}
