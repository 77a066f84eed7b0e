package command

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const differences = "testdata/differences.golden"

// Where we answer otherwise than Redis, it is on purpose. A line of the list
// is a request, the reason why its reply is another, our reply and Redis'; a
// line that is no difference any more has to go.
func TestDifferences(t *testing.T) {
	dial := redis(t)
	session := overSQLite(t)
	text, err := os.ReadFile(differences)
	if err != nil {
		t.Fatal(err)
	}
	var golden strings.Builder
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " | ", 3)
		if strings.HasPrefix(line, "#") || len(fields) < 2 {
			golden.WriteString(line)
			continue
		}
		stream := strings.ReplaceAll(fields[0], " ; ", "\r\n") + "\r\n"
		theirs, _ := ask(t, dial(), stream, true)
		ours, _ := answer(session(), stream, true, len(stream))
		if ours == theirs {
			t.Errorf("%s: both answer %q: this is no difference", fields[0], ours)
		}
		fmt.Fprintf(&golden, "%s | %s | %s | %s\n", fields[0], fields[1], shown(ours), shown(theirs))
	}
	if *update {
		if err := os.WriteFile(differences, []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if golden.String() != string(text) {
		t.Errorf("%s is not what the servers answer, which is:\n%s", differences, golden.String())
	}
}

// shown is the beginning of a reply: what comes behind it may tell the time.
func shown(reply string) string {
	if line, _, _ := strings.Cut(reply, "\r\n"); len(reply) > 200 {
		return fmt.Sprintf("%q…", line+"\r\n")
	}
	return fmt.Sprintf("%q", reply)
}
