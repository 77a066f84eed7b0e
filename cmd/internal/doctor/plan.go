package doctor

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// Plan is what lets a connector of Debezium carry checkpoints: what
// freshet doctor --debezium prints.
type Plan struct {
	Name      string            `json:"name"`
	SQL       []string          `json:"sql"` // for the owner of the tables
	Connector map[string]string `json:"config"`
	Rows      []PlanRows        `json:"rows"`

	tables []string // of checkpoints, as the connector names them: schema.table
	mapped []string // the use cases', likewise
	keys   []string // their key columns: schema.table.column
	before []string // the connector's own transforms
	routes []string // those of the checkpoints
	user   string   // the connector's; "": not known
}

// PlanRows is how many rows a table of checkpoints has to have.
type PlanRows struct {
	Table      string `json:"table"`
	Topic      string `json:"topic"`
	Partitions int    `json:"partitions"` // 0: not known
	Rows       int    `json:"rows"`

	sql []string // makes them
}

// planFor makes the plan of a connector; nil: of one that is still to be made.
func planFor(f *Facts, c *Connector) (*Plan, error) {
	made := c == nil
	if made {
		c = newConnector(f)
	}
	d := &f.Config.Stream.Debezium
	p := &Plan{Name: c.Name, Connector: map[string]string{}, before: c.transforms()}
	if made {
		maps.Copy(p.Connector, c.Config)
	}
	p.before = slices.DeleteFunc(p.before, func(name string) bool { return strings.HasPrefix(name, routePrefix) })
	texts, err := postgres.CheckpointTables(d.CheckpointTable, len(d.Topics))
	if err != nil {
		return nil, err
	}
	beat := postgres.Heartbeat{Tables: texts, Slot: c.slot(), Publication: c.publication()}
	for _, u := range f.Config.UseCases {
		name, err := postgres.ParseName(u.Table)
		if err != nil {
			return nil, err
		}
		beat.Mapped = append(beat.Mapped, name.String())
		p.mapped = append(p.mapped, name.Schema+"."+name.Table)
		p.keys = append(p.keys, keysOf(f, u.Name, name)...)
	}
	p.mapped = unique(p.mapped)
	if p.Connector["heartbeat.action.query"], err = beat.SQL(); err != nil {
		return nil, err
	}
	for i, text := range texts {
		if err := p.addTable(f, c, i, text); err != nil {
			return nil, err
		}
	}
	p.addRights(f, c)
	p.addSettings(f, c)
	if made || c.Config["table.include.list"] != "" {
		p.addTables(c.Config["table.include.list"])
	}
	return p, nil
}

// newConnector is one that is still to be made, but for where its database is.
func newConnector(f *Facts) *Connector {
	const json = "org.apache.kafka.connect.json.JsonConverter"
	return &Connector{Name: "freshet", Config: map[string]string{
		"connector.class": "io.debezium.connector.postgresql.PostgresConnector",
		"topic.prefix":    prefixOf(f),
		"plugin.name":     "pgoutput",
		"slot.name":       f.Config.Relay.Slot, "publication.name": f.Config.Relay.Publication, "publication.autocreate.mode": "filtered",
		"snapshot.mode": "no_data",
		"key.converter": json, "key.converter.schemas.enable": "false",
		"value.converter": json, "value.converter.schemas.enable": "false",
	}}
}

// prefixOf guesses a connector's prefix from its topics: PREFIX.SCHEMA.TABLE.
func prefixOf(f *Facts) string {
	if topics := f.Config.Stream.Debezium.Topics; len(topics) > 0 {
		if parts := strings.Split(topics[0], "."); len(parts) > 2 {
			return strings.Join(parts[:len(parts)-2], ".")
		}
		return topics[0]
	}
	return "freshet"
}

func keysOf(f *Facts, useCase string, name postgres.Name) (keys []string) {
	if f.Database == nil {
		return nil
	}
	for i := range f.Database.Tables {
		t := &f.Database.Tables[i]
		if t.Spec.Name != useCase || t.Table == nil {
			continue
		}
		for _, column := range append(slices.Clone(t.Key), t.Table.Primary()...) {
			keys = append(keys, name.Schema+"."+name.Table+"."+column)
		}
	}
	return unique(keys)
}

// routePrefix is what the names of the transforms begin with that lead
// checkpoints to their topics.
const routePrefix = "freshetCheckpoint"

func (p *Plan) addTable(f *Facts, c *Connector, i int, text string) error {
	name, err := postgres.ParseName(text)
	if err != nil {
		return err
	}
	topic := f.Config.Stream.Debezium.Topics[i]
	rows := PlanRows{Table: name.String(), Topic: topic, Partitions: partitionsOf(f, topic)}
	rows.Rows = rowsFor(rows.Partitions)
	statements, err := postgres.CheckpointRows(text, rows.Rows)
	if err != nil {
		return err
	}
	rows.sql = statements
	p.SQL = append(p.SQL, statements...)
	p.Rows = append(p.Rows, rows)
	p.tables = append(p.tables, name.Schema+"."+name.Table)
	from := topicOf(c.setting("topic.prefix", prefixOf(f)), p.tables[i])
	if from == topic {
		return nil
	}
	route := routePrefix + strconv.Itoa(i+1)
	p.routes = append(p.routes, route)
	p.Connector["transforms."+route+".type"] = regexRouter
	p.Connector["transforms."+route+".regex"] = regexp.QuoteMeta(from)
	p.Connector["transforms."+route+".replacement"] = strings.ReplaceAll(topic, "$", `\$`)
	return nil
}

var noTopic = regexp.MustCompile(`[^a-zA-Z0-9._-]`)

// topicOf is the topic that a connector writes a table to, if nothing leads its
// records elsewhere: what no topic's name may have is an underscore there.
func topicOf(prefix, table string) string {
	return noTopic.ReplaceAllString(prefix+"."+table, "_")
}

func partitionsOf(f *Facts, topic string) int {
	for i := range f.Topics {
		if t := &f.Topics[i]; t.Name == topic && t.Facts != nil {
			return t.Facts.Partitions
		}
	}
	return 0
}

// fewestRows are enough for few partitions.
const fewestRows = 16

// rowsFor returns how many rows are likely to reach every partition. Which row
// goes where is decided by a hash of its key: of P (ln P + 5) rows none reaches
// some partition in less than one case of a hundred, which a watched stream
// then shows.
func rowsFor(partitions int) int {
	if partitions < 2 {
		return fewestRows
	}
	n := float64(partitions)
	return max(fewestRows, int(math.Ceil(n*(math.Log(n)+5))))
}

// addRights lets the connector's user write the tables, and publishes them
// where the publication is there already.
func (p *Plan) addRights(f *Facts, c *Connector) {
	p.user = c.user()
	for _, row := range p.Rows {
		name, err := postgres.ParseName(row.Table)
		if err != nil {
			continue
		}
		if p.user != "" {
			p.SQL = append(p.SQL, "GRANT SELECT, UPDATE ON "+name.SQL()+" TO "+quoted(p.user))
		}
	}
	if f.Database == nil || !f.Database.Publication.Found {
		return // the connector makes it, with all that it captures
	}
	for i := range f.Database.Checkpoints {
		if t := &f.Database.Checkpoints[i]; !t.Published.In {
			p.SQL = append(p.SQL, "ALTER PUBLICATION "+quoted(f.Database.Publication.Name)+" ADD TABLE "+t.Name.SQL())
		}
	}
}

// addSettings adds the connector's settings that matter, but those that say so
// already.
func (p *Plan) addSettings(f *Facts, c *Connector) {
	set := func(name, value, otherwise string) {
		if c.setting(name, otherwise) != value {
			p.Connector[name] = value
		}
	}
	set("skipped.operations", "none", "t")
	set("plugin.name", "pgoutput", "decoderbufs")
	set("unavailable.value.placeholder", f.Config.Stream.Debezium.Unavailable, "__debezium_unavailable_value")
	if every := settingMillis(c, "heartbeat.interval.ms", 0); every <= 0 {
		p.Connector["heartbeat.interval.ms"] = "250"
	}
	if settingMillis(c, "poll.interval.ms", 500).Milliseconds() > 100 {
		p.Connector["poll.interval.ms"] = "50"
	}
	if !c.compilesNothing() {
		p.Connector[initialStatements] = c.withoutJIT()
	}
	if len(p.routes) > 0 {
		p.Connector["transforms"] = strings.Join(append(slices.Clone(p.before), p.routes...), ",")
	}
}

// addTables has the mapped tables captured, and those of the checkpoints.
func (p *Plan) addTables(list string) {
	include := []string{list}
	for _, t := range append(slices.Clone(p.mapped), p.tables...) {
		if list == "" || !matches(list, t) {
			include = append(include, pattern(t))
		}
	}
	if len(include) > 1 {
		p.Connector["table.include.list"] = strings.Trim(strings.Join(include, ","), ",")
	}
}

var plainName = regexp.MustCompile(`^[\w.]+$`)

// pattern is a regular expression for one table. A dot is left as it is where
// nothing else needs care: who reads the list knows such names.
func pattern(table string) string {
	if plainName.MatchString(table) {
		return table
	}
	return regexp.QuoteMeta(table)
}

// transforms are those settings of the plan that lead the checkpoints.
func (p *Plan) transforms() map[string]string {
	out := map[string]string{}
	for name, value := range p.Connector {
		if name == "transforms" || strings.HasPrefix(name, "transforms.") {
			out[name] = value
		}
	}
	return out
}
