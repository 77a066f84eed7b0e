package part

import (
	"path/filepath"
	"testing"
)

// A process that could not be started has nothing to end.
func TestProcessThatDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	p := NewProcess("node-1", filepath.Join(dir, "nothing"), filepath.Join(dir, "log"), func(uint64) []string { return nil })
	if err := p.Start(t.Context()); err == nil {
		t.Error("nothing was started")
	}
	if err := p.End(); err != nil {
		t.Errorf("nothing did not end well: %v", err)
	}
}
