package config

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Whatever a file holds, Parse returns: a configuration that validates again,
// or an error.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(examples, "*.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	var reference bytes.Buffer
	if err := PrintDefaults(&reference); err != nil {
		f.Fatal(err)
	}
	f.Add(reference.Bytes())
	f.Add([]byte(minimal))
	f.Add([]byte("a: &a [*a, *a]\n<<: *a\n"))
	f.Add([]byte("node: !!str {listen: |\n  x\n}"))
	lookup := func(string) (string, bool) { return "x", true }
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("file:")) {
			t.Skip("would read files")
		}
		c, err := Parse("f.yaml", data, lookup)
		if (c == nil) == (err == nil) {
			t.Fatalf("Parse gave %v, %v", c, err)
		}
		if err == nil && c.Validate() != nil {
			t.Fatalf("valid once, then not: %v", c.Validate())
		}
	})
}
