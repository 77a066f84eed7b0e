package doctor

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/config"
)

// The connector of docker-compose.yml has the settings that doctor asks for, and
// its database the table.
func TestConnectorOfTheDevStack(t *testing.T) {
	const dir = "../../../testdata/compose/"
	read := func(name string) []byte {
		data, err := os.ReadFile(dir + name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	c, err := config.Parse("freshet.yaml", read("debezium/freshet.yaml"), func(string) (string, bool) { return "postgres://a", true })
	if err != nil {
		t.Fatal(err)
	}
	connector, err := parseConnector("connector.json", read("debezium/connector.json"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planFor(&Facts{Config: c}, &connector)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range plan.Connector {
		if connector.Config[name] != want && !*update {
			t.Errorf("connector.json has another %s than doctor asks for; if that is meant, run this test with -update", name)
		}
	}
	if *update {
		maps.Copy(connector.Config, plan.Connector)
		if err := os.WriteFile(dir+"debezium/connector.json", indented(t, connector.Config), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sql := string(read("postgres/2-debezium.sql"))
	for _, s := range plan.SQL {
		if !strings.Contains(sql, s+";") {
			t.Errorf("2-debezium.sql has no %s", s)
		}
	}
}

func indented(t *testing.T, settings map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(settings); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
