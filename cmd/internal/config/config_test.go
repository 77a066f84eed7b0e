package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const examples = "../../../testdata/config"

func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func TestExamplesLoad(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(examples, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(f, data, env(map[string]string{
			"KAFKA_PASSWORD": "s3cret", "SHOP_PASSWORD": "s3same", "DATABASE_URL": "postgres://a", "REPLICA_URL": "postgres://b",
			"HOSTNAME": "cache-1", "TIER_KEY": "0123456789abcdef",
		})); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsGivenAndWhatIsNot(t *testing.T) {
	f := filepath.Join(examples, "shop.yaml")
	data, err := os.ReadFile(f)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(f, data, env(map[string]string{
		"KAFKA_PASSWORD": "s3cret", "SHOP_PASSWORD": "s3same", "HOSTNAME": "cache-1", "TIER_KEY": "0123456789abcdef",
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct {
		what      string
		got, want any
	}{
		{"given", c.Node.MaxClients, 2000},
		{"default beside given", c.Node.DrainTimeout, Duration(10 * time.Second)},
		{"size", c.Memory.Budget, Size(1 << 30)},
		{"list", c.Stream.Kafka.Brokers, []string{"kafka-1.shop.example:9093", "kafka-2.shop.example:9093"}},
		{"list of names", c.UseCases[1].Key, []string{"email"}},
		{"duration", c.UseCases[2].Bound, Duration(500 * time.Millisecond)},
		{"default in a list item", c.UseCases[2].TTLMax, Duration(24 * time.Hour)},
		{"default that is true", c.UseCases[3].RefreshAhead, true},
		{"secret", c.Stream.Kafka.SASL.Password.Value(), "s3cret"},
		{"secret in a list item", c.Users[0].Password.Value(), "s3same"},
		{"of the environment", c.Tier.Name, "cache-1"},
		{"key", c.Tier.Key.Value(), "0123456789abcdef"},
		{"rights", c.Users[0].Rights, Rights{Read: []string{"*"}, Write: []string{"session", "orders"}}},
		{"hash", strings.HasPrefix(c.Users[1].Password.Value(), "$argon2id$"), true},
		{"hash, printed", fmt.Sprintf("%v %+v", c.Users[1].Password, c.Users[1]), "a hash {Name:operator Password:a hash Priority:normal Rights:{Read:[] Write:[] Admin:[*]}}"},
	} {
		if !reflect.DeepEqual(e.got, e.want) {
			t.Errorf("%s: %v, want %v", e.what, e.got, e.want)
		}
	}
}

// What YAML takes for one text is one within braces, too, where the parser sees a
// mapping.
func TestAddressesWithinBraces(t *testing.T) {
	for list, want := range map[string][]string{
		"127.0.0.1:9092":                    {"127.0.0.1:9092"},
		"kafka-1:9092, 'kafka-2:9092'":      {"kafka-1:9092", "kafka-2:9092"},
		"\n  kafka-1:9092,\n  kafka-2:9,\n": {"kafka-1:9092", "kafka-2:9"},
		"kafka-1: 9092":                     nil,
		"kafka-1:[9092]":                    nil,
		"'kafka-1':9092":                    nil,
	} {
		c, err := Parse("f.yaml", []byte(minimal+"stream: {kafka: {brokers: ["+list+"]}}\n"), env(nil))
		if want == nil {
			if err == nil || !strings.Contains(err.Error(), "stream.kafka.brokers[0]: want a text (in quotes") {
				t.Errorf("[%s]: %v", list, err)
			}
			continue
		}
		if err != nil || !slices.Equal(c.Stream.Kafka.Brokers, want) {
			t.Errorf("[%s]: %v, %v", list, c, err)
		}
	}
}

func TestRelativePathsStartAtTheFile(t *testing.T) {
	c, err := Load(filepath.Join(examples, "minimal.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(examples, "shop.db"); c.Source.SQLite.Path != want {
		t.Errorf("path = %s, want %s", c.Source.SQLite.Path, want)
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("hunter2\r\nnot this\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"${PASSWORD}", "file:password", "file:" + filepath.Join(dir, "password")} {
		text := minimal + "stream: {kafka: {sasl: {mechanism: plain, username: u, password: '" + ref + "'}}}\n"
		c, err := Parse(filepath.Join(dir, "f.yaml"), []byte(text), env(map[string]string{"PASSWORD": "hunter2"}))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Stream.Kafka.SASL.Password.Value(); got != "hunter2" {
			t.Errorf("%s: read %q", ref, got)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if out := fmt.Sprintf(verb, c.Stream.Kafka.SASL.Password) + fmt.Sprintf(verb, c.Stream.Kafka.SASL); strings.Contains(out, "hunter2") {
				t.Errorf("%s prints %s", verb, out)
			}
		}
	}
}

// What is of one machine is known once its environment is.
func TestTierOfAnEnvironment(t *testing.T) {
	text := minimal + "tier: {name: '${NAME}', announce: '${AT}', key: '${KEY}', members: ['h:1']}\n"
	for _, c := range []struct{ name, at, key, want string }{
		{"a", "h:1", "0123456789abcdef", ""},
		{"a\x00", "h:1", "0123456789abcdef", "tier.name: "},
		{"a", "0.0.0.0:1", "0123456789abcdef", "tier.announce: 0.0.0.0:1 is no address that others can reach"},
		{"a", "h", "0123456789abcdef", "tier.announce: "},
		{"a", "h:1", "0123456789abcde", "tier.key: has 15 bytes; use at least 16"},
	} {
		_, err := Parse("f.yaml", []byte(text), env(map[string]string{"NAME": c.name, "AT": c.at, "KEY": c.key}))
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), c.key)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// The password stands in the URL, so the URL is a secret.
func TestURLsAreSecrets(t *testing.T) {
	text := "source: {postgres: {url: '${URL}', replicas: ['${URL}', '${OTHER}']}}\nuse_cases: [{name: u, table: t, read_from: replica, read_only: true}]\n"
	c, err := Parse("f.yaml", []byte(text), env(map[string]string{"URL": "postgres://u:hunter2@h/d", "OTHER": "postgres://u:hunter3@h/d"}))
	if err != nil {
		t.Fatal(err)
	}
	p := c.Source.Postgres
	if p.URL.Value() != "postgres://u:hunter2@h/d" || p.Replicas[0].Value() != p.URL.Value() || p.Replicas[1].Value() != "postgres://u:hunter3@h/d" {
		t.Errorf("read %q, %q", p.URL.Value(), p.Replicas)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if out := fmt.Sprintf(verb, c); strings.Contains(out, "hunter") {
			t.Errorf("%s prints %s", verb, out)
		}
	}
	_, err = Parse("f.yaml", []byte(text), env(map[string]string{"URL": "postgres://u:hunter2@h/d"}))
	if err == nil || !strings.Contains(err.Error(), "f.yaml:1: source.postgres.replicas[1]: the environment has no OTHER") {
		t.Errorf("err = %v", err)
	}
}

// Errors of the parser quote no line: the next one may hold a secret.
func TestErrorsQuoteNoNeighbours(t *testing.T) {
	text := "stream:\n  kafka:\n    sasl:\n      password: hunter2\n      username: [\n"
	_, err := Parse("f.yaml", []byte(text), env(nil))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("err = %v", err)
	}
	_, err = Parse("f.yaml", []byte("stream: {kafka: {sasl: {password: hunter2}}}"), env(nil))
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "${NAME}") {
		t.Errorf("err = %v", err)
	}
}

// The reference is a configuration: with what has no default added, it loads,
// and gives the defaults.
func TestPrintedReferenceIsTheDefaults(t *testing.T) {
	var b bytes.Buffer
	if err := PrintDefaults(&b); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(b.String(), "# path:", "path: x.db", 1)
	text = strings.Replace(text, "\n# use_cases:\n#   - name: ", "\nuse_cases:\n  - name: u", 1)
	text = strings.Replace(text, "\n#     table: ", "\n    table: t", 1)
	got, err := Parse("f.yaml", []byte(text), env(nil))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	want := Default()
	want.Source.SQLite.Path = "x.db"
	want.UseCases = []UseCase{DefaultUseCase("u")}
	want.UseCases[0].Table = "t"
	got.where, got.file = nil, ""
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// A setting that is declared without a meaning, or with a default outside its
// limits, is a defect of this package.
func TestEverySettingIsDeclaredInFull(t *testing.T) {
	var walk func(rt reflect.Type, path string)
	walk = func(rt reflect.Type, path string) {
		for i := range rt.NumField() {
			f := rt.Field(i)
			if !f.IsExported() {
				continue
			}
			if f.Tag.Get("yaml") == "" || f.Tag.Get("doc") == "" {
				t.Errorf("%s.%s has no name or no meaning", path, f.Name)
			}
			if f.Type.Kind() == reflect.Slice {
				f.Type = f.Type.Elem()
			}
			if _, scalar := scalarName(reflect.Zero(f.Type)); f.Type.Kind() == reflect.Struct && !scalar {
				walk(f.Type, path+"."+f.Name)
			}
		}
	}
	walk(reflect.TypeFor[Config](), "Config")
}

func TestSizesAndDurations(t *testing.T) {
	for text, want := range map[string]Size{"0": 0, "17": 17, "5B": 5, "4KiB": 4096, "256MiB": 256 << 20, "1 GiB": 1 << 30, "-1": -1} {
		if got, err := parseSize(text); got != want || err != nil {
			t.Errorf("parseSize(%q) = %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "MiB", "1.5MiB", "1MB", "9223372036854775807KiB", "x", "1e3"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("parseSize(%q) = %d", text, got)
		}
	}
	for text, want := range map[string]string{"2s": "2s", "100ms": "100ms", "24h": "24h", "90m": "1h30m", "0s": "0s", "1h0m5s": "1h0m5s"} {
		if d, err := parseDuration(text); d.String() != want || err != nil {
			t.Errorf("%q prints as %q, %v", text, d, err)
		}
	}
}
