package config

// Audit is the part of a node that compares what is cached with the source.
type Audit struct {
	Enabled bool `yaml:"enabled" default:"false" doc:"Whether this node audits."`
}

func (c *Config) validateAudit(reporter) {}
