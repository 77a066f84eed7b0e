package conform

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// folder is the one of a run, which no other has meanwhile. What is needed only
// while it lasts is below it: judging takes as much room as the history, and is
// to have it where that is.
type folder struct {
	held    *os.File // nil: folders cannot be held here
	scratch string   // of the judge
	parts   string   // of the parts
}

// temporary begins the names of what no run has left on purpose. Whoever has a
// run write to a folder of theirs has nothing of that name there.
const temporary = "freshet-scratch-"

// openFolder makes a folder, if it is not there, and holds it. What a run that
// was killed has left over goes.
func openFolder(dir string) (f *folder, err error) {
	f = &folder{}
	if err = os.MkdirAll(dir, 0o755); err == nil {
		f.held, err = hold(dir)
	}
	if err == nil {
		err = f.prepare(dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: name another folder with --out", err), f.close())
	}
	return f, nil
}

func (f *folder) prepare(dir string) error {
	left, err := os.ReadDir(dir) // by no pattern: what is dir may look like one
	if err != nil {
		return err
	}
	for _, e := range left {
		if !strings.HasPrefix(e.Name(), temporary) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	if f.scratch, err = os.MkdirTemp(dir, temporary); err != nil {
		return err
	}
	// Parts take a path for one beside their configuration.
	if f.parts, err = filepath.Abs(filepath.Join(f.scratch, "parts")); err != nil {
		return err
	}
	return os.Mkdir(f.parts, 0o700)
}

// close lets another run have it.
func (f *folder) close() error {
	var errs []error
	if f.scratch != "" {
		errs = append(errs, os.RemoveAll(f.scratch))
	}
	if f.held != nil {
		errs = append(errs, f.held.Close())
	}
	return errors.Join(errs...)
}
