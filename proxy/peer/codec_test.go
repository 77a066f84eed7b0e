package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func TestRequestTravels(t *testing.T) {
	for _, want := range []request{
		{hops: 1},
		{id: 1 << 40, hops: 2, ring: ring{version: 300, checksum: 1 << 63}, remain: 1500 * time.Microsecond},
		{id: 7, hops: 1, remain: time.Hour, caller: proxy.Caller{Name: "web", Low: true}},
	} {
		for version := uint64(lowestVersion); version <= highestVersion; version++ {
			body := want.append(nil, version)
			var got request
			c := cursor{rest: body}
			got.caller.Name = string(got.decode(&c, version))
			expect := want
			expect.caller.Low = want.caller.Low && version >= 2
			if got != expect || c.end() != nil {
				t.Errorf("version %d: %+v came as %+v, %v", version, want, got, c.end())
			}
			for cut := range body {
				c := cursor{rest: body[:cut]}
				if new(request).decode(&c, version); !c.bad {
					t.Errorf("version %d: %d of %d bytes are a request", version, cut, len(body))
				}
			}
		}
	}
}

func TestTimeLeftIsNeverRoundedToNone(t *testing.T) {
	var got request
	c := cursor{rest: (&request{remain: 1}).append(nil, 2)}
	if got.decode(&c, 2); got.remain != time.Microsecond {
		t.Errorf("a nanosecond came as %v", got.remain)
	}
}

func TestReadsTravel(t *testing.T) {
	catalog := catalogOf(t, "users", "orders")
	want := reads(t, catalog, "users:1", "orders:-9", "users:77", "users:8")
	want[1].Freshness = proxy.Freshness{MaxStale: 1500 * time.Millisecond}
	want[2].Freshness = proxy.Freshness{Strong: true, Token: proxy.Forever}
	want[3].Freshness = proxy.Freshness{MaxStale: 1, Token: proxy.Never}
	body := appendReads(nil, want)
	got, err := decodeReads(&cursor{rest: body}, catalog, nil)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
	for cut := range body {
		if _, err := decodeReads(&cursor{rest: body[:cut]}, catalog, nil); err == nil {
			t.Errorf("%d of %d bytes are reads", cut, len(body))
		}
	}
	if _, err := decodeReads(&cursor{rest: appendReads(nil, []proxy.Request{{Key: proxy.Key{Text: []byte("users:007")}}})}, catalog, nil); err == nil {
		t.Error("a key in another spelling is taken")
	}
}

// schemas are both ends of a dictionary, without a connection between them.
type schemas struct {
	*told
	known dictionary
}

func newSchemas(t testing.TB) *schemas {
	s := &schemas{}
	s.told = newTold(func(frame []byte) {
		if err := s.known.learn(frame[headBytes:]); err != nil {
			t.Error(err)
		}
	}, func() {})
	return s
}

func TestResultsTravel(t *testing.T) {
	s := newSchemas(t)
	two := &row.Schema{Columns: []string{"id", "name"}}
	none := &row.Schema{}
	want := []proxy.Result{
		{},
		{Row: rowOf(two, "x"), AsOf: proxy.Never, Upper: proxy.Forever, Origin: proxy.FromStale},
		{Row: rowOf(two, strings.Repeat("y", 500)), AsOf: 5, Upper: 6, Position: proxy.Position{Commit: 1 << 60, Seq: 3}, Horizon: 99, Pinned: true, Origin: proxy.FromCache},
		{Err: proxy.ErrNotPrimary},
		{Row: rowOf(none, "")},
		{Err: &proxy.BadKeyError{Reason: "no"}},
		{Row: rowOf(&row.Schema{Columns: []string{"id", "name"}}, "alike")},
	}
	body := appendResults(nil, want, maxReply, s.id)
	got := make([]proxy.Result, len(want))
	if err := decodeResults(&cursor{rest: body}, got, s.known.schemas); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		w, g := want[i], got[i]
		if !g.Row.Equal(w.Row) || fmt.Sprint(g.Err) != fmt.Sprint(w.Err) {
			t.Errorf("%d: %+v came as %+v", i, w, g)
		}
		w.Row, g.Row, w.Err, g.Err = row.Row{}, row.Row{}, nil, nil
		if !reflect.DeepEqual(w, g) {
			t.Errorf("%d: %+v came as %+v", i, w, g)
		}
	}
	if len(s.known.schemas) != 2 {
		t.Errorf("%d schemas were told: two that are alike are one", len(s.known.schemas))
	}
	for cut := range body {
		if err := decodeResults(&cursor{rest: body[:cut]}, got, s.known.schemas); err == nil {
			t.Errorf("%d of %d bytes are results", cut, len(body))
		}
	}
	if err := decodeResults(&cursor{rest: body}, got, s.known.schemas[:1]); err == nil {
		t.Error("a row of a schema that was not told is taken")
	}
	if err := decodeResults(&cursor{rest: body}, got[:3], s.known.schemas); err == nil {
		t.Error("more answers than were asked for are taken")
	}
}

// What does not fit is not there; what does, is, behind it as well.
func TestResultsFitTheirFrame(t *testing.T) {
	s := newSchemas(t)
	want := []proxy.Result{
		{Row: rowOf(oneColumn, strings.Repeat("a", 600))},
		{Row: rowOf(oneColumn, strings.Repeat("b", 600))},
		{Row: rowOf(oneColumn, "c")},
		{Err: &proxy.RejectedError{Reason: strings.Repeat("é", 2000)}},
	}
	const most = 1600
	body := appendResults(nil, want, most, s.id)
	if len(body) > most {
		t.Errorf("%d bytes", len(body))
	}
	got := make([]proxy.Result, len(want))
	if err := decodeResults(&cursor{rest: body}, got, s.known.schemas); err != nil {
		t.Fatal(err)
	}
	if !got[0].Row.Equal(want[0].Row) || !errors.Is(got[1].Err, proxy.ErrUnavailable) || !got[2].Row.Equal(want[2].Row) || got[3].Err == nil {
		t.Errorf("%+v", got)
	}
}

func TestErrorsTravel(t *testing.T) {
	for _, err := range []error{
		nil, proxy.ErrUnavailable, proxy.ErrUnknownUseCase, proxy.ErrNotPrimary, proxy.ErrUnknownOutcome,
		proxy.ErrShed, proxy.ErrReadOnly, context.DeadlineExceeded,
	} {
		if got := fault(classify(err)); !errors.Is(got, err) {
			t.Errorf("%v came as %v", err, got)
		}
		if wrapped := fmt.Errorf("in context: %w", err); err != nil && !errors.Is(fault(classify(wrapped)), err) {
			t.Errorf("%v did not come", wrapped)
		}
	}
	for _, err := range []error{context.Canceled, io.EOF, proxy.ErrWrongPassword} {
		if got := fault(classify(err)); !errors.Is(got, proxy.ErrUnavailable) {
			t.Errorf("%v came as %v", err, got)
		}
	}
	if got := fault(200, "from the future"); !errors.Is(got, proxy.ErrUnavailable) {
		t.Errorf("a class of later came as %v", got)
	}
	var badKey *proxy.BadKeyError
	var rejected *proxy.RejectedError
	var unavailable *proxy.UnavailableError
	if err := fault(classify(&proxy.BadKeyError{Reason: "a"})); !errors.As(err, &badKey) || badKey.Reason != "a" {
		t.Errorf("bad key came as %v", err)
	}
	if err := fault(classify(&proxy.RejectedError{Reason: "b"})); !errors.As(err, &rejected) || rejected.Reason != "b" {
		t.Errorf("rejected came as %v", err)
	}
	if err := fault(classify(&proxy.UnavailableError{Reason: "c", Err: io.EOF})); !errors.As(err, &unavailable) || unavailable.Reason != "c" || !errors.Is(err, proxy.ErrUnavailable) {
		t.Errorf("unavailable came as %v", err)
	}
}

func TestHelloAndTableTravel(t *testing.T) {
	want := hello{lowest: 1, highest: 2, name: "a", instance: 3, tier: 4, keyed: true}
	copy(want.nonce[:], strings.Repeat("n", nonceBytes))
	body := want.append(nil) // of a build that does not tell its database
	var got hello
	if err := got.decode(body); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	want.database, want.tells = 5, true
	if err := got.decode(append(want.append(nil), "what a later version adds"...)); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for cut := range body {
		if new(hello).decode(body[:cut]) == nil {
			t.Errorf("%d of %d bytes are a hello", cut, len(body))
		}
	}
	theirs := appendTable(nil, catalogOf(t, "users", "orders", "more"), []uint64{1, 5, 9})
	shared, err := decodeTable(theirs, catalogOf(t, "orders", "less", "users"), []uint64{6, 7, 1})
	if err != nil || !slices.Equal(shared, []bool{false, false, true}) {
		t.Errorf("shared: %v, %v", shared, err)
	}
	for cut := range theirs {
		if _, err := decodeTable(theirs[:cut], catalogOf(t, "users"), []uint64{1}); err == nil {
			t.Errorf("%d of %d bytes are a table", cut, len(theirs))
		}
	}
}

// endless gives bytes for ever, and counts how many were taken.
type endless struct{ taken int }

func (e *endless) Read(b []byte) (int, error) {
	e.taken += len(b)
	return len(b), nil
}

func TestFrames(t *testing.T) {
	var head [headBytes]byte
	wire := appendFrame(appendFrame(nil, frameLoad, []byte("body")), framePing, nil)
	r := bytes.NewReader(wire)
	k, n, err := readHead(r, &head, 4)
	if err != nil || k != frameLoad || n != 4 {
		t.Fatalf("kind %d, %d bytes, %v", k, n, err)
	}
	if body, err := readBody(r, nil, n); err != nil || string(body) != "body" {
		t.Errorf("%q, %v", body, err)
	}
	if k, n, err = readHead(r, &head, 4); err != nil || k != framePing || n != 0 {
		t.Errorf("kind %d, %d bytes, %v", k, n, err)
	}
	for _, bad := range []string{"\x00\x00\x00\x00\x01", "\x00\x00\x00\x06\x01", "\xff\xff\xff\xff\x01"} {
		if _, _, err := readHead(strings.NewReader(bad), &head, 4); !errors.Is(err, errMalformed) {
			t.Errorf("head % x: %v", bad, err)
		}
	}
	// A length that is only announced costs what has come, not what was said.
	got := testing.AllocsPerRun(1, func() {
		if _, err := readBody(strings.NewReader("short"), nil, maxReply); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	})
	if got > 4 {
		t.Errorf("%v allocations for five bytes", got)
	}
	if body, err := readBody(&endless{}, nil, 3<<20); err != nil || len(body) != 3<<20 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}
