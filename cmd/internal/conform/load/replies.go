package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-cache/freshet/cmd/internal/conform/client"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/proxy"
)

// understand takes what a reply says of read j of a command.
func (c *command) understand(reply *client.Reply, j int) {
	r := &c.reads[j]
	switch {
	case reply.Err != nil:
		r.Trouble = troubleOf(reply.Err)
	case c.proof:
		r.prove(reply.List)
	case c.args[0] == "MGET" && j < len(reply.List):
		r.value(&reply.List[j])
	case c.args[0] == "MGET":
		r.Odd = "an array of " + strconv.Itoa(len(reply.List))
	default:
		r.value(reply)
	}
}

func troubleOf(err error) history.Trouble {
	var refused client.Refusal
	if errors.As(err, &refused) && strings.HasPrefix(string(refused), "UNAVAILABLE") {
		return history.Unavailable
	}
	return history.Refused
}

// value takes a value, or that there is none.
func (r *read) value(reply *client.Reply) {
	if reply.Null {
		return
	}
	var ok bool
	if r.Value, ok = r.useCase.Value(reply.Text, r.id); !ok {
		r.Odd = odd(reply.Text)
	}
}

// maxOdd is how much of a reply is written down that is no value: one may be as
// long as a whole page of the history.
const maxOdd = 1000

func odd(text string) string {
	if len(text) > maxOdd {
		return fmt.Sprintf("“%s…” of %d bytes", text[:maxOdd], len(text))
	}
	return "“" + text + "”"
}

// Value reads what GET gives of a row, and reports whether it is that row's.
func (u *UseCase) Value(text string, id int) (value uint64, ok bool) {
	if u.WholeRow {
		if text, ok = u.valueOf(text, id); !ok {
			return 0, false
		}
	}
	return table.Parse(text, id)
}

// valueOf is the value in a row's JSON, which must be a row of that id all
// through.
func (u *UseCase) valueOf(text string, id int) (string, bool) {
	var row struct {
		ID    int     `json:"id"`
		Alias string  `json:"alias"`
		Group int     `json:"grp"`
		Val   *string `json:"val"`
		Pad   *string `json:"pad"`
	}
	if err := json.Unmarshal([]byte(text), &row); err != nil || row.Val == nil {
		return "", false
	}
	whole := !u.Padded || same(row.Pad, table.PadOf(id))
	return *row.Val, whole && row.ID == id && row.Alias == table.AliasOf(id) && row.Group == id%table.Groups
}

func same(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// prove takes a reply with its proof: names and values in turn.
func (r *read) prove(pairs []client.Reply) {
	seen := false
	for i := 0; i+1 < len(pairs); i += 2 {
		v := &pairs[i+1]
		switch pairs[i].Text {
		case "value":
			r.value(v)
			seen = true
		case "as_of":
			r.AsOf = timeOf(v)
		case "upper":
			r.Upper = timeOf(v)
		case "bound_met":
			r.Outside = v.Text == "0"
		case "origin":
			r.Origin = history.Origin(v.Text)
		}
	}
	if !seen {
		r.Odd = "no proof"
	}
}

func timeOf(reply *client.Reply) proxy.Time {
	n, err := strconv.ParseInt(reply.Text, 10, 64)
	if err != nil {
		return 0
	}
	return proxy.Time(n)
}
