package proxy

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

func TestAgeText(t *testing.T) {
	for _, tc := range []struct {
		now, then Time
		want      string
	}{
		{Time(2 * time.Second), Time(500 * time.Millisecond), "1.5s"}, {119_400, 0, "119us"},
		{Forever, 0, "unknown"}, {0, Never, "unknown"},
	} {
		if got := AgeText(tc.now, tc.then); got != tc.want {
			t.Errorf("AgeText(%d, %d) = %q, want %q", tc.now, tc.then, got, tc.want)
		}
	}
}

func TestTimeSaturates(t *testing.T) {
	const now = Time(1_000)
	for _, tc := range []struct {
		got, want time.Duration
	}{
		{now.Sub(400), 600},
		{now.Sub(Never), math.MaxInt64},
		{Forever.Sub(now), math.MaxInt64},
		{Forever.Sub(Never), math.MaxInt64},
		{Never.Sub(now), math.MinInt64},
		{now.Sub(Forever), math.MinInt64},
	} {
		if tc.got != tc.want {
			t.Errorf("got %d, want %d", tc.got, tc.want)
		}
	}
	for _, end := range []Time{Never, Forever} {
		if end.Add(time.Hour) != end || end.Add(-time.Hour) != end {
			t.Errorf("%d moved", end)
		}
	}
	if now.Add(5) != 1_005 {
		t.Error("a moment did not move")
	}
}

func TestPositionsOrderByCommitFirst(t *testing.T) {
	ordered := []Position{{}, {0, 1}, {1, 0}, {1, 9}, {2, 0}, {math.MaxUint64, 0}}
	for i, p := range ordered {
		for j, q := range ordered {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = +1
			}
			if got := p.Compare(q); got != want {
				t.Errorf("%v against %v: %d, want %d", p, q, got, want)
			}
		}
	}
	if (Position{}).Known() || !(Position{Seq: 1}).Known() {
		t.Error("only the zero position is not known")
	}
}

func TestIdentityPrecedes(t *testing.T) {
	id := Identity{System: 1, Timeline: 2, Started: 30}
	for _, tc := range []struct {
		other Identity
		want  bool
	}{
		{id, false},
		{Identity{System: 1, Timeline: 3, Started: 10}, true},
		{Identity{System: 1, Timeline: 2, Started: 31}, true},
		{Identity{System: 1, Timeline: 1, Started: 99}, false},
		{Identity{System: 2, Timeline: 9, Started: 99}, false},
	} {
		if got := id.Precedes(tc.other); got != tc.want {
			t.Errorf("%v precedes %v: %v", id, tc.other, got)
		}
	}
}

func mapping(name, table string, key ...row.KeyColumn) *row.Mapping {
	return &row.Mapping{Spec: row.Spec{Name: name, Table: table}, Columns: key}
}

func TestCatalog(t *testing.T) {
	id := row.KeyColumn{Name: "id", Kind: row.KeyInt}
	c, err := NewCatalog(mapping("users", "people", id), mapping("orders", "orders", id), mapping("staff", "people", id))
	if err != nil {
		t.Fatal(err)
	}
	for i, u := range c.All() {
		if u.ID != i || c.Named(u.Name) != u {
			t.Errorf("use case %q has number %d at place %d", u.Name, u.ID, i)
		}
	}
	if on := c.OnTable("people"); len(on) != 2 || on[0].Name != "users" || on[1].Name != "staff" {
		t.Errorf("on table people: %v", on)
	}
	if _, err := NewCatalog(mapping("a", "t"), mapping("a", "u")); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a name given twice: %v", err)
	}
}

func TestCatalogKey(t *testing.T) {
	c, err := NewCatalog(mapping("users", "t", row.KeyColumn{Name: "id", Kind: row.KeyInt}), mapping("k", "t", row.KeyColumn{Name: "k"}))
	if err != nil {
		t.Fatal(err)
	}
	longest := "k:" + strings.Repeat("x", MaxKeyBytes-2)
	for text, want := range map[string]error{
		"users:42":    nil,
		longest:       nil,
		longest + "x": &BadKeyError{},
		"users:042":   &BadKeyError{},
		"users:":      &BadKeyError{},
		"users:1:2":   &BadKeyError{},
		"k:a%41":      &BadKeyError{},
		"nobody:1":    ErrUnknownUseCase,
		"users":       ErrUnknownUseCase,
		"":            ErrUnknownUseCase,
		":":           ErrUnknownUseCase,
	} {
		k, err := c.Key([]byte(text))
		var bad *BadKeyError
		switch {
		case want == nil && (err != nil || string(k.Text) != text || c.Named(k.UseCase.Name) != k.UseCase):
			t.Errorf("%q: %v, %v", text, k, err)
		case errors.Is(want, ErrUnknownUseCase) && !errors.Is(err, want):
			t.Errorf("%q: %v", text, err)
		case want != nil && !errors.Is(want, ErrUnknownUseCase) && !errors.As(err, &bad):
			t.Errorf("%q: %v, want a BadKeyError", text, err)
		}
	}
	text := []byte("users:42")
	if n := testing.AllocsPerRun(100, func() { _, _ = c.Key(text) }); n != 0 {
		t.Errorf("a key costs %v allocations", n)
	}
}
