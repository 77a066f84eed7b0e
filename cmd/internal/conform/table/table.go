package table

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// The names in the database.
const (
	Rows  = "freshet_conform_rows"
	Log   = "freshet_conform_log"
	Alias = "alias" // the column of the second key
	Value = "val"   // the column of the value
)

// Groups is how many groups the rows fall into, by their ids.
const Groups = 16

// Database is where the table stands.
type Database interface {
	// Create makes the table and its log. It refuses to touch what is there.
	Create(ctx context.Context) error
	// Connect returns a connection of one writer's own.
	Connect(ctx context.Context) (Conn, error)
	// Drop removes what Create has made.
	Drop(ctx context.Context) error
}

// Conn is one connection. Not for concurrent use.
type Conn interface {
	// Transact carries out changes in one transaction, and undoes them again
	// if undo says so.
	Transact(ctx context.Context, changes []Change, undo bool) (Done, error)
	// Since returns what the log holds behind a place.
	Since(ctx context.Context, seq uint64) ([]Logged, error)
	// Find returns what the log says of one value, or ErrNotLogged.
	Find(ctx context.Context, id int, value uint64) (Logged, error)
	Close() error
}

// ErrNotLogged is returned for a value that no committed write has made.
var ErrNotLogged = errors.New("not in the log")

// Op is what a change does.
type Op uint8

// The operations.
const (
	Insert   Op = iota // the row ID, unless it is there
	Update             // the row ID, if it is there
	Put                // either
	Delete             // the row ID
	Move               // the row ID gets the id To, unless that is taken
	Group              // all rows of the group ID whose ids are even
	Truncate           // all rows go
	Reshape            // the value's column is made anew: all rows have one value, and none was changed
	Recreate           // the whole table is, and is empty
)

var opNames = [...]string{"insert", "update", "put", "delete", "move", "group", "truncate", "reshape", "recreate"}

func (o Op) String() string { return opNames[o] }

// Change is one statement. Value is the number in the value; of a Group that
// of the row 0, and each row has its id added to it.
type Change struct {
	Op     Op
	ID, To int
	Value  uint64
}

// Logged is a line of the log: what became of one row.
type Logged struct {
	Seq   uint64 // its place
	ID    int
	Value uint64 // 0: it is gone
}

// Done is what became of a transaction.
type Done struct {
	Logged    []Logged // what it changed; undone, if that was asked for
	Begun     history.Time
	Acked     history.Time
	Committed bool
	Unknown   bool // the reply to its commit is missing: only the log knows
}

// Text spells the value of a row. Some are long, so that memory has to be
// made for them.
func Text(id int, value uint64) string {
	const most = 1500
	return strconv.Itoa(id) + "." + strconv.FormatUint(value, 10) + "." + strings.Repeat("=", id*7919%most)
}

// PadOf is what every fourth row has beside, in databases that keep long values
// apart: it never changes, so a change stream may leave it out. None: nil.
func PadOf(id int) *string {
	const length = 2500 // more than PostgreSQL keeps in a row
	if id%4 != 1 {
		return nil
	}
	pad := strings.Repeat("p", length)
	return &pad
}

// AliasOf spells the second key of a row.
func AliasOf(id int) string { return "a" + strconv.Itoa(id) }

// Parse reads a value, and reports whether it is one of that row. A value
// without an id is of every row: Reshape makes it.
func Parse(text string, id int) (value uint64, ok bool) {
	of, number, ok := strings.Cut(text, ".")
	if !ok || of != "" && of != strconv.Itoa(id) {
		return 0, false
	}
	number, _, _ = strings.Cut(number, ".")
	value, err := strconv.ParseUint(number, 10, 64)
	return value, err == nil && value > 0
}
