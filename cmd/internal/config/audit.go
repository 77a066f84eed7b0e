package config

// Audit is the part of a node that compares what is cached with the source.
type Audit struct {
	Enabled        bool     `yaml:"enabled" default:"false" doc:"Whether this node audits."`
	ChangesOneIn   int      `yaml:"changes_one_in" default:"100" min:"1" max:"1000000000" doc:"One change in so many is followed until it is consistent, or for ten minutes."`
	Slack          Duration `yaml:"slack" default:"500ms" min:"10ms" max:"1m" doc:"How much later than it should a look may find a change consistent and still count it."`
	ReadsPerSecond int      `yaml:"reads_per_second" default:"50" min:"1" max:"100000" doc:"How many keys are read from the source to compare with: what changes leave of it goes to keys that are held."`
}
