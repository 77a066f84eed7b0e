package config

// Conform says how a conformance run may disturb a deployment.
type Conform struct {
}

func (c *Config) validateConform(reporter) {}
