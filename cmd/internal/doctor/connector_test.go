package doctor

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseConnectors(t *testing.T) {
	want := map[string]string{"topic.prefix": "shop", "tasks.max": "1", "transforms.a.regex": `shop\.(.*)`}
	for what, text := range map[string]string{
		"JSON as Kafka Connect shows it": `{"name": "c", "config": {"topic.prefix": "shop", "tasks.max": "1", "transforms.a.regex": "shop\\.(.*)"}, "tasks": []}`,
		"JSON of settings alone":         ` {"topic.prefix": "shop", "tasks.max": 1, "transforms.a.regex": "shop\\.(.*)"}`,
		"properties":                     "# a comment\n! another\n\ntopic.prefix=shop\n  tasks.max : 1\ntransforms.a.regex = shop\\\\.(.*)\n",
		"properties over several lines":  "topic.prefix=sh\\\n   op\ntasks.max 1\ntransforms.a.regex=\\u0073hop\\\\.(.*)",
	} {
		c, err := parseConnector("file", []byte(text))
		if err != nil || !maps.Equal(c.Config, want) {
			t.Errorf("%s: %q, %v", what, c.Config, err)
		}
	}
	c, err := parseConnector("file", []byte("name=mine\nvalue=a\\=b\\tc\\\\"))
	if err != nil || c.Name != "mine" || c.Config["value"] != "a=b\tc\\" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{`{"config": `, `{"a": }`} {
		if _, err := parseConnector("file", []byte(text)); err == nil {
			t.Errorf("%s is no JSON", text)
		}
	}
}

// What is written as properties is read back.
func TestPropertiesComeBack(t *testing.T) {
	for _, value := range []string{`a\b`, `shop\.public\.freshet_checkpoint`, "two\nlines", "", "a=b:c d"} {
		c, err := parseConnector("file", []byte("x="+property(value)))
		if err != nil || c.Config["x"] != value {
			t.Errorf("%q came back as %q, %v", value, c.Config["x"], err)
		}
	}
}

func TestFilters(t *testing.T) {
	for _, c := range []struct {
		include, exclude, name string
		want                   bool
	}{
		{"", "", "public.users", true},
		{"public.users", "", "public.users", true},
		{"public.users", "", "public.users2", false},
		{`public\.orders , public\..*`, "", "public.users", true},
		{"PUBLIC.USERS", "", "public.users", true},
		{"", "public.*", "public.users", false},
		{"", "log.*", "public.users", true},
		{"(?<x>users", "", "anything", true}, // Go does not know it: nothing is claimed
	} {
		if got := lets(c.include, c.exclude, c.name); got != c.want {
			t.Errorf("include %q, exclude %q, %s: %v", c.include, c.exclude, c.name, got)
		}
	}
}

func TestRoutes(t *testing.T) {
	c := Connector{Config: map[string]string{
		"transforms": "a, b", "transforms.a.type": regexRouter, "transforms.a.regex": `shop\.(\w+)\.(.*)`, "transforms.a.replacement": "$2_$1x",
		"transforms.b.type": regexRouter, "transforms.b.regex": "users_public.", "transforms.b.replacement": "all",
	}}
	for topic, want := range map[string]string{"shop.public.users": "all", "shop.log.visits": "visits_logx", "other": "other"} {
		if to, known := c.leads(topic); to != want || !known {
			t.Errorf("%s is led to %s, %v", topic, to, known)
		}
	}
	for setting, value := range map[string]string{
		"transforms.a.predicate": "some", "transforms.a.type": "io.debezium.transforms.ByLogicalTableRouter", "transforms.a.regex": "(?<x>",
	} {
		other := Connector{Config: maps.Clone(c.Config)}
		other.Config[setting] = value
		if to, known := other.leads("shop.public.users"); known {
			t.Errorf("with %s = %s, it is known to lead to %s", setting, value, to)
		}
	}
}

func TestTopicsOfOddTables(t *testing.T) {
	if got := topicOf("shop", "My Schema.Odd.Name"); got != "shop.My_Schema.Odd.Name" {
		t.Error(got)
	}
}

// Nothing in a file of settings makes the doctor fail, and what it reads stays
// what it is when it is written and read again.
func FuzzConnector(f *testing.F) {
	f.Add([]byte(`{"name": "c", "config": {"a": "b"}}`))
	f.Add([]byte("a=b\nc: d\\\n e\n#f"))
	f.Add([]byte("\\u00zz=\\"))
	f.Add([]byte(`{"transforms": "a", "transforms.a.type": "RegexRouter"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseConnector("file", data)
		if err != nil {
			return
		}
		c.leads("shop.public.users")
		c.isDebezium()
		lets(c.Config["table.include.list"], c.Config["table.exclude.list"], "public.users")
	})
}

// A file of something else makes no plan.
func TestConnectorInAFileIsOneOfDebezium(t *testing.T) {
	file := filepath.Join(t.TempDir(), "connector.json")
	for text, want := range map[string]string{
		`{"name": "x", "config": {"connector.class": "org.example.FileSource"}}`: `connector.class is "org.example.FileSource"`,
		`{}`: `connector.class is ""`,
		`{"name": "shop", "config": {"connector.class": "io.debezium.connector.postgresql.PostgresConnector"}}`: "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := connectorIn(file)
		if want == "" && (err != nil || len(found) != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v", text, found, err)
		}
	}
	if _, err := connectorIn(file + "x"); err == nil || !strings.Contains(err.Error(), "--connector") {
		t.Error(err)
	}
}
