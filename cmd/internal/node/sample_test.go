package node

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sql1(t *testing.T, path, statement string) string {
	t.Helper()
	var out bytes.Buffer
	if err := SQL(t.Context(), path, statement, &out); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return out.String()
}

func TestSampleIsMadeOnceAndFoundAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), DevDatabase)
	if err := os.WriteFile(path+".new", []byte("half a sample"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Sample(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ statement, want string }{
		{"SELECT count(*) FROM users", "count(*)\n2000\n"},
		{"SELECT count(*) FROM orders", "count(*)\n5000\n"},
		{"SELECT * FROM users WHERE id = 42", "id\tname\temail\tcity\tcredit\n42\tKen Stream\tken42@shop.example\tPorto\t554\n"},
		{"SELECT value FROM kv WHERE key = '000000000001'", "value\nxxx\n"},
		{"SELECT city FROM users WHERE id = 4", "city\nNULL\n"},
		{"UPDATE users SET credit = 0 WHERE id <= 10", "10 rows changed\n"},
		{"DELETE FROM users WHERE id = -1", "0 rows changed\n"},
		{"CREATE TABLE extra (a)", "0 rows changed\n"},
	} {
		if got := sql1(t, path, c.statement); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.statement, got, c.want)
		}
	}
	if err := Sample(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if got := sql1(t, path, "SELECT sum(credit) FROM users WHERE id <= 10"); !strings.HasSuffix(got, "\n0\n") {
		t.Errorf("the sample was made anew: %q", got)
	}
}

func TestSQLErrorsAreErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, DevDatabase)
	if err := Sample(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string][2]string{
		"no such table": {path, "SELECT * FROM nothing"},
		"no SQL":        {path, "hello"},
		"constraint":    {path, "INSERT INTO users (id, name, email) VALUES (1, 'x', 'y')"},
		"no file":       {filepath.Join(dir, "absent.db"), "SELECT 1"},
	} {
		if err := SQL(t.Context(), c[0], c[1], &bytes.Buffer{}); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "absent.db")); err == nil {
		t.Error("a misspelled path made a database")
	}
}
