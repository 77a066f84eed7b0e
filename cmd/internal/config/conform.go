package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Conform is what a conformance run against a deployment that is already there
// has to know of it, and may do to it.
type Conform struct {
	Nodes    []ConformNode  `yaml:"nodes" doc:"Every node of the deployment. Required for a run."`
	User     string         `yaml:"user" default:"default" doc:"Who to be at the nodes, where they have users: one who may read and write the use cases of the run."`
	Password Secret         `yaml:"password" doc:"That user's password: ${NAME} or file:PATH. None: say nothing of who this is."`
	Database Secret         `yaml:"database" doc:"PostgreSQL: who makes the log and writes to the table, which is to be theirs: a URL as in source.postgres.url; none: that one."`
	UseCases []string       `yaml:"use_cases" doc:"The use cases to read: names. None: all over the table freshet_conform_rows."`
	Rows     int            `yaml:"rows" default:"2000" min:"500" max:"1000000" doc:"Rows that are inserted first."`
	Writers  int            `yaml:"writers" default:"4" min:"1" max:"100" doc:"Connections that write in the database, each some 25 transactions a second."`
	Readers  int            `yaml:"readers" default:"4" min:"1" max:"100" doc:"Connections that read, for each node, each some 160 pipelines a second."`
	Faults   []ConformFault `yaml:"faults" doc:"How to disturb the deployment. None: it is left alone."`
}

// ConformNode is where a node is.
type ConformNode struct {
	Name   string `yaml:"name" doc:"What the report calls it; none: its address."`
	Listen string `yaml:"listen" doc:"Where it serves Redis clients, as seen from here. Required."`
	Admin  string `yaml:"admin" doc:"Where its /metrics and /readyz are, as seen from here. Required."`
}

// ConformFault is something that commands make go wrong, and stop going wrong.
type ConformFault struct {
	Name   string   `yaml:"name" doc:"What the report calls it. Required."`
	Target string   `yaml:"target" doc:"What it is done to: of one target there is one fault at a time."`
	Begin  string   `yaml:"begin" doc:"A command, for sh -c, that returns once it has begun. Required."`
	End    string   `yaml:"end" doc:"A command that returns once it is over; none: it ends by itself. It is run also if begin fails and if the run is interrupted."`
	For    Duration `yaml:"for" default:"2s" min:"100ms" max:"10m" doc:"How long it lasts."`
	Clocks bool     `yaml:"clocks" default:"false" doc:"It steps a clock: until it is over, what is judged by clocks is excused."`
}

// LoadConform is [Load] for a conformance run: it reads the run's own secrets
// too, which no node needs to have.
func LoadConform(path string) (*Config, error) {
	c, err := Load(path)
	if err != nil {
		return nil, err
	}
	for at, secret := range map[string]*Secret{"conform.password": &c.Conform.Password, "conform.database": &c.Conform.Database} {
		if err := secret.read(filepath.Dir(path), os.LookupEnv); err != nil {
			return nil, c.errorf(at, "%w", err)
		}
	}
	return c, nil
}

func (c *Config) validateConform(bad reporter) {
	f := &c.Conform
	if f.Database.Given() && !c.Source.Postgres.URL.Given() {
		bad("conform.database", "is for PostgreSQL; remove it")
	}
	if f.User != "default" && !f.Password.Given() {
		bad("conform.user", "is given, but no password; give conform.password too")
	}
	for i, name := range f.UseCases {
		if !slices.ContainsFunc(c.UseCases, func(u UseCase) bool { return u.Name == name }) {
			bad(fmt.Sprintf("conform.use_cases[%d]", i), "there is no use case %q; name one of use_cases", name)
		}
	}
	c.validateConformNodes(bad)
	for i, fault := range f.Faults {
		at := func(setting string) string { return fmt.Sprintf("conform.faults[%d].%s", i, setting) }
		if fault.Name == "" {
			bad(at("name"), "is required; say what goes wrong, as the report is to call it")
		}
		if fault.Name == "healthy" || fault.Name == "recovering" {
			bad(at("name"), "is what the report calls times without faults; say what goes wrong")
		}
		if fault.Begin == "" {
			bad(at("begin"), "is required; write the command that makes it begin")
		}
	}
}

func (c *Config) validateConformNodes(bad reporter) {
	nodes := c.Conform.Nodes
	for i := range nodes {
		n := &nodes[i]
		at := func(setting string) string { return fmt.Sprintf("conform.nodes[%d].%s", i, setting) }
		for _, a := range []struct{ setting, value string }{{"listen", n.Listen}, {"admin", n.Admin}} {
			if err := checkAddress(a.value); err != nil {
				bad(at(a.setting), "%w", err)
			} else if anyPort(a.value) {
				bad(at(a.setting), "%s is no place to connect to; write the port that the node has taken", a.value)
			}
		}
		if n.Name == "" {
			n.Name = n.Listen
		}
		if first := slices.IndexFunc(nodes, func(o ConformNode) bool { return o.Name == n.Name }); first < i {
			bad(at("name"), "node %q is there twice, first as conform.nodes[%d]; name each once", n.Name, first)
		}
	}
}
