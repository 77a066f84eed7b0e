package doctor

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
)

// Plans returns what the connectors of a deployment have to be told; of one
// that is still to be made, if none is known.
func Plans(f *Facts) ([]*Plan, error) {
	if !f.debezium() {
		return nil, errors.New("stream.format is not debezium: set it, and name the topics in stream.debezium.topics")
	}
	if f.Connect != nil {
		return nil, f.Connect
	}
	if len(f.Connectors) == 0 {
		p, err := planFor(f, nil)
		return []*Plan{p}, err
	}
	var out []*Plan
	for i := range f.Connectors {
		p, err := planFor(f, &f.Connectors[i])
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// JSON writes the plan as Kafka Connect takes a connector, with the SQL beside
// it. Its settings are those that are to change: PATCH takes them as they are,
// and what a connector has of secrets is nobody's business here.
func (p *Plan) JSON(w io.Writer) error { return writeJSON(w, p) }

// Text writes the plan to be pasted: SQL, then lines of properties.
func (p *Plan) Text(w io.Writer) error {
	t := &page{}
	t.line("-- Once, by the owner of the tables. The rows of a table spread over the partitions of its")
	t.line("-- topic, and each partition has to get one:")
	for _, r := range p.Rows {
		t.line("--   %s: %d rows for %s, in topic %s", r.Table, r.Rows, ifElse(r.Partitions == 0, "partitions whose number is not known yet", plural(r.Partitions, "partition")), r.Topic)
	}
	for _, statement := range p.SQL {
		t.line("%s;", statement)
	}
	if p.user == "" {
		t.line("-- The connector's user (database.user) is not known here: GRANT it SELECT and UPDATE on these tables.")
	}
	t.line("\n# Settings of connector %s; \"freshet doctor --debezium --json\" has them for its REST interface (PATCH).", p.Name)
	if p.Connector["connector.class"] != "" {
		t.line("# It is to be made: say where its database is with database.hostname, database.port,")
		t.line("# database.user, database.password and database.dbname.")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Connector)) {
		t.line("%s=%s", name, property(p.Connector[name]))
	}
	return t.write(w)
}

// property writes a value as Java's properties take it.
func property(value string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(value)
}
