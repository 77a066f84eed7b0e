package conform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A second run is told that there is a first, and takes nothing away from it.
func TestOneRunInAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	first, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if first.held == nil {
		t.Skip("folders cannot be held here")
	}
	if _, err := openFolder(dir); err == nil || !strings.Contains(err.Error(), "another run") || !strings.Contains(err.Error(), "--out") {
		t.Errorf("a second run is told: %v", err)
	}
	if _, err := os.Stat(first.parts); err != nil {
		t.Errorf("the second run disturbed the first: %v", err)
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

// What a run left that was killed goes with the next one; the history does not,
// nor does what is somebody's own, or a run's that goes on beside it.
func TestLeftOvers(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "run*")
	for _, name := range []string{"run*/freshet-scratch-1/parts", "run*/kept", "run*/scratch-notes", "run1/freshet-scratch-2"} {
		if err := os.MkdirAll(filepath.Join(above, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 || filepath.Join(dir, left[0].Name()) != f.scratch || left[1].Name() != "kept" || left[2].Name() != "scratch-notes" {
		t.Errorf("there are %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(above, "run1/freshet-scratch-2")); err != nil {
		t.Error(err)
	}
}
