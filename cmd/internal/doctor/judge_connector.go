package doctor

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// judgeConnectors judges the settings of Debezium's connectors.
func judgeConnectors(f *Facts) (out findings) {
	if !f.debezium() {
		return nil
	}
	out.check(f.Connect == nil, Finding{Check: "connector", Level: Warning, Found: found(f.Connect, "its settings are known"), Wanted: "Kafka Connect's REST interface, or a file of settings", Why: "what a connector leaves out is not checked",
		Mend: do("name one with --connect URL or --connector FILE")})
	if f.Connect != nil {
		return out
	}
	if len(f.Connectors) == 0 {
		out.tell(Finding{Check: "connector", Level: Note, Found: "none was looked at", Wanted: "its settings", Why: "what a connector leaves out is not checked", Mend: do("name it with --connect URL or --connector FILE")})
	}
	for i := range f.Connectors {
		judgeConnector(f, &f.Connectors[i], &out)
	}
	return out
}

func judgeConnector(f *Facts, c *Connector, out *findings) {
	if c.State != "" {
		out.check(c.State == "RUNNING", Finding{Check: "task", About: c.Name, Level: Error, Found: strings.TrimSpace(c.State + " " + c.Trace), Wanted: "RUNNING", Why: "no change arrives, and the database keeps its log", Mend: do("mend what it says, then restart the task: POST /connectors/%s/restart?includeTasks=true", c.Name)})
	}
	for _, s := range connectorSettings(f, c) {
		fine, f := s.fine, s.Finding
		f.About = c.Name
		out.check(fine, f)
	}
	judgeHeartbeat(f, c, out)
	judgeTransforms(f, c, out)
	judgeFilters(f, c, out)
}

type judged struct {
	fine bool
	Finding
}

// connectorSettings are those that one look at their value decides.
func connectorSettings(f *Facts, c *Connector) []judged {
	set := func(name, value string) *Mend { return &Mend{Connector: map[string]string{name: value}} }
	is := func(name, otherwise, wanted string, level Level, why string) judged {
		value := c.setting(name, otherwise)
		return judged{strings.EqualFold(value, wanted), Finding{Check: name, Level: level, Found: value, Wanted: wanted, Why: why, Mend: set(name, wanted)}}
	}
	list := []judged{
		is("skipped.operations", "t", "none", Error, "a truncated table would stay cached until ttl_max"),
		is("errors.tolerance", "none", "none", Error, "records that fail are left out, and nobody is told"),
		is("producer.override.enable.idempotence", "true", "true", Error, "records may change places when they are sent again, and an older one would be the last"),
		is("unavailable.value.placeholder", "__debezium_unavailable_value", f.Config.Stream.Debezium.Unavailable, Error, "a value that the connector does not have would be taken for a value"),
		{true, Finding{Check: "tombstones.on.delete", Found: c.setting("tombstones.on.delete", "true") + "; either will do"}},
	}
	acks := c.setting("producer.override.acks", "all")
	list = append(list, judged{acks == "all" || acks == "-1", Finding{Check: "producer.override.acks", Level: Error, Found: acks, Wanted: "all", Why: "what one broker has acknowledged alone is lost with it", Mend: set("producer.override.acks", "all")}})
	decimals := c.setting("decimal.handling.mode", "precise")
	list = append(list, judged{decimals != "double", Finding{Check: "decimal.handling.mode", Level: Warning, Found: decimals, Wanted: "precise or string", Why: "numbers lose digits: two values look like one", Mend: set("decimal.handling.mode", "precise")}})
	poll := settingMillis(c, "poll.interval.ms", 500)
	list = append(list, judged{poll <= 100*time.Millisecond, Finding{Check: "poll.interval.ms", Level: Note, Found: poll.String(), Wanted: "50 or so", Why: "changes wait for it, so no smaller bound is carried; 5 costs about a fifth of a core", Mend: set("poll.interval.ms", "50")}})
	for _, converter := range []string{"key.converter", "value.converter"} {
		kind := c.setting(converter, "")
		list = append(list, judged{kind == "" || strings.HasSuffix(kind, ".JsonConverter"), Finding{Check: converter, Level: Error, Found: ifElse(kind == "", "that of the worker", kind), Wanted: "org.apache.kafka.connect.json.JsonConverter", Why: "records in another form cannot be decoded", Mend: set(converter, "org.apache.kafka.connect.json.JsonConverter")}})
	}
	if f.postgres() && c.isPostgres() {
		list = append(list,
			is("plugin.name", "decoderbufs", "pgoutput", Error, "another plugin does not tell truncates"),
			is("slot.drop.on.stop", "false", "false", Error, "what changes while the connector is stopped is lost, and nothing shows it"),
			judged{c.compilesNothing(), Finding{Check: initialStatements, Level: Note, Found: cmp.Or(c.setting(initialStatements, ""), "is not set"), Wanted: noJIT + ", here or for the connector's role", Why: "compiling the heartbeat's query takes longer than carrying it out, each time: a stream that could bring ten checkpoints a second brings two",
				Mend: set(initialStatements, c.withoutJIT())}})
	}
	return list
}

// What a connector says first on its connections, but that of the log.
const (
	initialStatements = "database.initial.statements"
	noJIT             = "SET jit = off"
)

func (c *Connector) compilesNothing() bool {
	return !c.isPostgres() || strings.Contains(strings.ToLower(c.setting(initialStatements, "")), "jit")
}

// withoutJIT is what a connector says first, and that nothing is to be compiled.
func (c *Connector) withoutJIT() string {
	if said := strings.TrimRight(c.setting(initialStatements, ""), "; "); said != "" {
		return said + "; " + noJIT
	}
	return noJIT
}

func settingMillis(c *Connector, name string, otherwise int) time.Duration {
	n, err := strconv.Atoi(c.setting(name, strconv.Itoa(otherwise)))
	if err != nil {
		n = otherwise
	}
	return time.Duration(n) * time.Millisecond
}

// judgeHeartbeat judges what makes the checkpoints.
func judgeHeartbeat(f *Facts, c *Connector, out *findings) {
	every := settingMillis(c, "heartbeat.interval.ms", 0)
	out.check(every > 0 && every <= time.Second, Finding{Check: "heartbeat.interval.ms", About: c.Name, Level: ifElse(every > 0, Warning, Error), Found: every.String(), Wanted: "250 or so", Why: ifElse(every > 0, "no smaller bound is carried by the stream", "there are no checkpoints without it: the stream proves nothing, and most reads go to the database"),
		Mend: &Mend{Connector: map[string]string{"heartbeat.interval.ms": "250"}}})
	plan, err := planFor(f, c)
	if err != nil {
		out.tell(Finding{Check: "heartbeat.action.query", About: c.Name, Level: Error, Found: err.Error(), Wanted: "tables whose names can be read", Why: "no checkpoint can be written", Mend: do("as it says")})
		return
	}
	query, mend := c.setting("heartbeat.action.query", ""), &Mend{Connector: map[string]string{"heartbeat.action.query": plan.Connector["heartbeat.action.query"]}}
	base := strings.Trim(f.Config.Stream.Debezium.CheckpointTable[strings.LastIndexByte(f.Config.Stream.Debezium.CheckpointTable, '.')+1:], `"`)
	switch {
	case query == mend.Connector["heartbeat.action.query"]:
		out.check(true, Finding{Check: "heartbeat.action.query", About: c.Name, Found: "writes the checkpoints"})
	case !strings.Contains(query, base):
		out.tell(Finding{Check: "heartbeat.action.query", About: c.Name, Level: Error, Found: ifElse(query == "", "is not set", "writes no checkpoints"), Wanted: "what freshet doctor --debezium prints", Why: "there are no checkpoints without it: the stream proves nothing", Mend: mend})
	default:
		out.tell(Finding{Check: "heartbeat.action.query", About: c.Name, Level: Warning, Found: "is not the one for these use cases and topics", Wanted: "what freshet doctor --debezium prints", Why: "a schema change of a table that it does not cover is not noticed, so nodes ask the database for each", Mend: mend})
	}
}

// judgeTransforms judges what becomes of records on their way.
func judgeTransforms(f *Facts, c *Connector, out *findings) {
	for _, name := range c.transforms() {
		kind := c.transform(name, "type")
		switch {
		case strings.HasSuffix(kind, ".Filter"):
			out.tell(Finding{Check: "transform " + name, About: c.Name, Level: Error, Found: kind, Wanted: "no transform that leaves records out", Why: "what is left out changes rows, and nobody is told", Mend: do("take it out of transforms, or make sure by its predicate that it never sees a mapped table")})
		case strings.HasSuffix(kind, ".ExtractNewRecordState"):
			judgeFlat(c, name, out)
		}
	}
	plan, err := planFor(f, c)
	if err != nil {
		return
	}
	prefix := c.setting("topic.prefix", "")
	for i, table := range plan.tables {
		judgeLeads(f, c, "checkpoints' topic", topicOf(prefix, table), []string{f.Config.Stream.Debezium.Topics[i]}, plan.transforms(), out)
	}
	for _, table := range plan.mapped {
		judgeLeads(f, c, "topic of a table", topicOf(prefix, table), f.Config.Stream.Debezium.Topics, nil, out)
	}
}

func judgeLeads(f *Facts, c *Connector, check, topic string, wanted []string, mend map[string]string, out *findings) {
	to, known := c.leads(topic)
	if !known {
		return // the streams show it
	}
	finding := Finding{Check: check, About: c.Name, Level: Error, Found: topic + ifElse(to == topic, "", " is led to "+to), Wanted: strings.Join(wanted, " or "), Why: "nodes read the topics of stream.debezium.topics, and no others",
		Mend: &Mend{Do: "route it there, or add it to stream.debezium.topics"}}
	if mend != nil {
		finding.Mend = &Mend{Connector: mend}
	}
	out.check(slices.Contains(wanted, to), finding)
}

// flatFields are what a flattened record has to carry beside its row.
var flatFields = []string{"op", "schema", "table", "source.txId", "source.snapshot"}

func judgeFlat(c *Connector, name string, out *findings) {
	at := "transforms." + name + "."
	deletes := c.setting(at+"delete.tombstone.handling.mode", c.setting(at+"delete.handling.mode", "tombstone"))
	out.check(strings.HasPrefix(deletes, "rewrite"), Finding{Check: "deletes of " + name, About: c.Name, Level: Error, Found: deletes, Wanted: "rewrite", Why: "a delete would not say which transaction it is of, or not come at all",
		Mend: &Mend{Connector: map[string]string{at + "delete.tombstone.handling.mode": "rewrite"}}})
	have := strings.FieldsFunc(c.Config[at+"add.fields"], func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	var missing []string
	for _, field := range flatFields {
		if !slices.Contains(have, field) {
			missing = append(missing, field)
		}
	}
	out.check(len(missing) == 0, Finding{Check: "fields of " + name, About: c.Name, Level: Error, Found: ifElse(len(missing) == 0, "are all there", "without "+strings.Join(missing, ", ")), Wanted: strings.Join(flatFields, ","), Why: "a record has to tell its table and transaction",
		Mend: &Mend{Connector: map[string]string{at + "add.fields": strings.Join(append(have, missing...), ",")}}})
}

// judgeFilters judges whether the mapped tables, their keys and the tables of
// checkpoints are captured.
func judgeFilters(f *Facts, c *Connector, out *findings) {
	plan, err := planFor(f, c)
	if err != nil {
		return
	}
	var missing []string
	for _, table := range append(slices.Clone(plan.mapped), plan.tables...) {
		schema, _, _ := strings.Cut(table, ".")
		if !lets(c.Config["table.include.list"], c.Config["table.exclude.list"], table) || !lets(c.Config["schema.include.list"], c.Config["schema.exclude.list"], schema) {
			missing = append(missing, table)
		}
	}
	mend := do("take them out of table.exclude.list and schema.exclude.list, or add them to schema.include.list")
	if list := c.Config["table.include.list"]; list != "" {
		mend = &Mend{Connector: map[string]string{"table.include.list": cmp.Or(plan.Connector["table.include.list"], list)}}
	}
	out.check(len(missing) == 0, Finding{Check: "captured tables", About: c.Name, Level: Error, Found: ifElse(len(missing) == 0, "all that are mapped, and the checkpoints'", "without "+strings.Join(missing, ", ")), Wanted: "all that are mapped, and the checkpoints'", Why: "nothing says what changes in the others", Mend: mend})
	var hidden []string
	for _, column := range plan.keys {
		if !lets(c.Config["column.include.list"], c.Config["column.exclude.list"], column) {
			hidden = append(hidden, column)
		}
	}
	out.check(len(hidden) == 0, Finding{Check: "captured columns", About: c.Name, Level: Error, Found: ifElse(len(hidden) == 0, "those of all keys", "without "+strings.Join(hidden, ", ")), Wanted: "those of all keys", Why: "a change that does not tell its key makes the whole table void",
		Mend: do("take them out of column.exclude.list, or add them to column.include.list")})
}
