package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const toConform = `
source: {postgres: {url: "${CONFORM_TEST_URL}"}}
use_cases: [{name: u, table: t}]
conform:
  nodes: [{listen: "10.0.0.1:6400", admin: "10.0.0.1:6480"}]
  password: file:password
  database: ${CONFORM_TEST_DATABASE}
`

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A run's own secrets are read for a run, and by nobody else.
func TestSecretsOfAConformanceRun(t *testing.T) {
	path := written(t, toConform)
	t.Setenv("CONFORM_TEST_URL", "postgres://a")
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := c.Conform.Nodes[0]; n.Name != n.Listen || c.Conform.Password.Value() != "" {
		t.Errorf("%+v", c.Conform)
	}
	if _, err := LoadConform(path); err == nil || !strings.Contains(err.Error(), "f.yaml:") {
		t.Errorf("without its secrets: %v", err)
	}
	t.Setenv("CONFORM_TEST_DATABASE", "postgres://b")
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "password"), []byte("s3same\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err = LoadConform(path)
	if err != nil || c.Conform.Password.Value() != "s3same" || c.Conform.Database.Value() != "postgres://b" {
		t.Errorf("%+v, %v", c, err)
	}
}
