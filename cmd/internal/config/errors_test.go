package config

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden errors anew")

const minimal = "source: {sqlite: {path: x.db}}\nuse_cases: [{name: u, table: t}]\n"

// testdata/errors.txt holds configurations and the errors they get, each block
// as: a line "--- what is wrong", the file, a line "=>", the errors.
func TestErrors(t *testing.T) {
	const file = "testdata/errors.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, block := range strings.Split(string(data), "--- ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		text, want, _ := strings.Cut(rest, "=>\n")
		_, err := Parse("f.yaml", []byte(text), env(nil))
		got := "none\n"
		if err != nil {
			got = err.Error() + "\n"
		}
		if !*update && got != want {
			t.Errorf("%s:\ngot  %swant %s", name, got, want)
		}
		out.WriteString("--- " + name + "\n" + text + "=>\n" + got)
	}
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
