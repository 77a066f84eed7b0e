package cdc

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

var update = flag.Bool("update", false, "write the golden output of the scripts anew")

// TestScripts runs the stories of testdata: commands, and what they cause on
// the lines that begin with ">".
//
//	attach N | lost WHY | step | learn
//	now SECONDS [SECONDS] | now unknown     the clock's bounds
//	stream NAME TIMELINE PARTITIONS [SLOT]
//	found TIMELINE SECONDS | found none
//	pN STREAM POSITION[<PREV] checkpoint SECONDS
//	pN STREAM POSITION[<PREV] OP TABLE BEFORE AFTER COMMIT [more]
//	pN STREAM POSITION[<PREV] cut TABLE     a record cut short behind its table
//	pN garbage
//	pN row ID SEQ STREAM SECONDS [altered]  a checkpoint of a stream that others ship
//	pN others OP TABLE BEFORE AFTER COMMIT  a change of one
//	pN others zero                          a record of one at offset zero
//	pN others broken [TABLE]
//	w | status | kept
//
// prev is the position sent last to that partition in that stream, unless
// given. Fields are name=value,…; "?" is not known, "null" is NULL. "more":
// not the last change of its key in its transaction.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(want))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s", differ(string(want), got))
			}
		})
	}
}

// differ shows the first line in which two texts differ.
func differ(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// story is one script being run.
type story struct {
	t       *testing.T
	catalog *proxy.Catalog
	cache   *recorder
	clock   *handClock
	wm      *Watermark
	applier *Applier
	streams map[string]event.StreamID
	sent    map[string]proxy.Position // by partition and stream
	offset  int64
}

func runScript(t *testing.T, script string) string {
	s := &story{t: t, catalog: newCatalog(t), cache: &recorder{}, clock: newClock(proxy.Forever), wm: NewWatermark(),
		streams: map[string]event.StreamID{}, sent: map[string]proxy.Position{}}
	s.applier = NewApplier(s.catalog, s.cache, s.wm, s.clock, slog.New(slog.DiscardHandler))
	var out strings.Builder
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, ">") {
			continue
		}
		out.WriteString(line)
		if words := strings.Fields(line); len(words) > 0 && words[0][0] != '#' {
			answer := s.run(words)
			for _, call := range append(s.cache.take(), answer...) {
				fmt.Fprintf(&out, "> %s\n", call)
			}
		}
	}
	return out.String()
}

func (s *story) run(words []string) (answer []string) {
	switch arg := words[1:]; words[0] {
	case "attach":
		s.applier.Attached(s.int(arg[0]))
	case "lost":
		s.applier.Lost(strings.Join(arg, " "))
	case "step":
		s.applier.ClockStepped()
	case "learn":
		learn(s.catalog)
	case "now":
		s.now(arg)
	case "stream":
		id := streamOf(uint64(s.int(arg[1])), strings.Join(arg[3:], ""), s.int(arg[2]))
		s.streams[arg[0]] = id
	case "found":
		return s.found(arg)
	case "w":
		return []string{"watermark " + seconds(s.wm.Load())}
	case "status":
		return s.status()
	case "kept":
		for _, k := range s.applier.Kept() {
			answer = append(answer, fmt.Sprintf("partition %d offset %d table %q: %s", k.Partition, k.Offset, k.Table, k.Reason))
		}
		return answer
	default:
		s.record(s.int(words[0][1:]), arg)
	}
	return nil
}

func (s *story) now(arg []string) {
	if arg[0] == "unknown" {
		s.clock.set(proxy.Never, proxy.Forever)
		return
	}
	s.clock.set(s.time(arg[0]), s.time(arg[len(arg)-1]))
}

func (s *story) found(arg []string) []string {
	id, sent := proxy.Identity{}, proxy.Never
	if arg[0] != "none" {
		id, sent = primary(uint64(s.int(arg[0]))), s.time(arg[1])
	}
	switch err := s.wm.Found(id, sent); {
	case errors.Is(err, proxy.ErrNotPrimary):
		return []string{"not primary"}
	case err != nil:
		s.t.Fatal(err)
	}
	return []string{"primary"}
}

func (s *story) status() []string {
	st := s.applier.Status()
	ok, why := s.applier.CaughtUp()
	if ok {
		why = "caught up"
	}
	return []string{fmt.Sprintf("%s; watermark %s, held %t, gaps %d", why, seconds(st.Watermark), st.Held, st.Gaps)}
}

func (s *story) record(partition int, arg []string) {
	s.offset++
	switch arg[0] {
	case "row":
		id := s.streams[arg[3]]
		s.applier.CheckpointRow(partition, s.offset, &event.CheckpointRow{Row: int64(s.int(arg[1])), Seq: uint64(s.int(arg[2])),
			Checkpoint: event.Checkpoint{T: s.time(arg[4]), Stream: id}, Altered: arg[len(arg)-1] == "altered"})
		return
	case "others":
		s.others(partition, arg[1:])
		return
	case "garbage":
		s.applier.Record(partition, s.offset, nil, []byte("garbage"))
		return
	}
	id, ok := s.streams[arg[0]]
	if !ok {
		s.t.Fatalf("no stream %q", arg[0])
	}
	r := &event.Record{Stream: id.Hash()}
	chain := fmt.Sprint(partition, arg[0])
	position, prev, given := strings.Cut(arg[1], "<")
	r.Position, r.Prev = s.position(position), s.sent[chain]
	if given {
		r.Prev = s.position(prev)
	}
	s.sent[chain] = r.Position
	var value []byte
	switch arg[2] {
	case "checkpoint":
		r.Checkpoint = &event.Checkpoint{T: s.time(arg[3]), Stream: id}
		value = event.Append(nil, r)
	case "cut":
		r.Change = &event.Change{Table: arg[3], Op: event.Truncate}
		value = event.Append(nil, r)[:3+len(arg[3])+4]
	default:
		r.Change = s.change(arg[2:])
		value = event.Append(nil, r)
	}
	s.applier.Record(partition, s.offset, nil, value)
	clear(value) // nothing of a record may be kept
}

// others brings a record of a stream that others ship.
func (s *story) others(partition int, arg []string) {
	switch arg[0] {
	case "zero":
		s.applier.Change(partition, 0, &event.Change{Table: "nobody's", Op: event.Touch}, nil)
	case "broken":
		s.applier.Undecodable(partition, s.offset, strings.Join(arg[1:], ""), "cannot be read", []byte("?"))
	default:
		s.applier.Change(partition, s.offset, s.change(arg), nil)
	}
}

func (s *story) change(arg []string) *event.Change {
	ops := map[string]event.Op{"insert": event.Insert, "update": event.Update, "delete": event.Delete,
		"touch": event.Touch, "truncate": event.Truncate, "schema": event.SchemaChanged, "merge": 99}
	c := &event.Change{Op: ops[arg[0]], Table: arg[1], Last: arg[len(arg)-1] != "more"}
	if c.Op == 0 {
		s.t.Fatalf("no operation %q", arg[0])
	}
	c.Before, c.After = s.fields(arg[2]), s.fields(arg[3])
	c.Commit = s.time(arg[4])
	return c
}

func (s *story) fields(text string) (out []row.Field) {
	if text == "-" {
		return nil
	}
	for _, f := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(f, "=")
		field := row.Field{Name: name, Kind: row.Text, Value: []byte(value)}
		switch {
		case value == "?":
			field = row.Field{Name: name, Kind: row.Unknown}
		case value == "null":
			field = row.Field{Name: name, Kind: row.Null}
		case name == "id" || name == "no":
			field.Kind = row.Number
		}
		out = append(out, field)
	}
	return out
}

func (s *story) int(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *story) time(text string) proxy.Time {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return sec(f)
}

func (s *story) position(text string) proxy.Position { return at(uint64(s.int(text))) }
