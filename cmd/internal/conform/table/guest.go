package table

import (
	"errors"
	"fmt"
	"strings"
)

// A run against a database that is somebody's is a guest there. It looks at
// what there is, enters, and leaves everything as it was: the table too, empty,
// if it was there, as it is where nodes have it mapped.

// ErrUnknown is returned by Enter if nobody knows whether it was carried out:
// Leave undoes what there may be.
var ErrUnknown = errors.New("the reply to the commit is missing")

// Script spells statements, one a line and more, for a person to run.
func Script(statements []string) string {
	return strings.Join(statements, ";\n") + ";\n"
}

// errLeft is returned where a log is there already. Whether its table was there
// before it, nobody knows, so that is kept.
func errLeft(undo []string) error {
	return fmt.Errorf("%s is there: another run is going on, or an earlier one could not clean up. If none is, this does:\n\n%s", Log, Script(undo))
}

func errNotEmpty() error {
	return fmt.Errorf("table %s is not empty, and a run would remove what is in it: if that is of no use to anybody, DELETE FROM %s", Rows, Rows)
}

func errColumns(is, want string) error {
	return fmt.Errorf("table %s has the columns (%s), and not (%s): drop it, and make it as --print-sql says", Rows, is, want)
}
