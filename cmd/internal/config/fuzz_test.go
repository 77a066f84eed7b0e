package config

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Whatever a file holds, it decodes: into a configuration that validates again,
// or into errors, and every setting is in a line that is there. Secrets are
// left out, since that would read files.
func FuzzDecode(f *testing.F) {
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
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decode("f.yaml", data)
		if err == nil && c.Validate() != nil {
			t.Fatalf("valid once, then not: %v", c.Validate())
		}
		breaks := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) // to YAML, either alone is one
		for name, line := range linesOf(c) {
			if line < 1 || line > breaks+1 {
				t.Fatalf("%s is in line %d", name, line)
			}
		}
	})
}

func linesOf(c *Config) map[string]int {
	if c == nil {
		return nil
	}
	return c.where
}
