package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
)

// shelf lists the keys of a fake's rows.
type shelf struct {
	rows  []string // sorted
	asked int
	err   error
}

func (s *shelf) Scan(_ context.Context, u *proxy.UseCase, after []byte, count int) ([][]byte, error) {
	s.asked++
	if s.err != nil {
		return nil, s.err
	}
	var keys [][]byte
	for _, k := range s.rows {
		if strings.HasPrefix(k, u.Name+":") && k > string(after) && len(keys) < count {
			keys = append(keys, []byte(k))
		}
	}
	return keys, nil
}

func newShelf(keys ...string) *shelf {
	slices.Sort(keys)
	return &shelf{rows: keys}
}

// page is one SCAN: its cursor, and the keys.
func page(t *testing.T, s *Session, cursor, options string) (next string, keys []string) {
	t.Helper()
	reply := do(s, "SCAN "+cursor+" "+options+"\r\n")
	lines := strings.Split(strings.TrimSuffix(reply, "\r\n"), "\r\n")
	if len(lines) < 4 || lines[0] != "*2" {
		t.Fatalf("SCAN %s %s: %q", cursor, options, reply)
	}
	for i := 5; i < len(lines); i += 2 {
		keys = append(keys, lines[i])
	}
	return lines[2], keys
}

func all(t *testing.T, s *Session, options string) (keys []string) {
	t.Helper()
	cursor := "0"
	for range 1000 {
		var some []string
		cursor, some = page(t, s, cursor, options)
		keys = append(keys, some...)
		if cursor == "0" {
			return keys
		}
	}
	t.Fatal("SCAN does not end")
	return nil
}

func TestScan(t *testing.T) {
	var keys []string
	for i := range 25 {
		keys = append(keys, fmt.Sprintf("key:%02d", i), fmt.Sprintf("users:%d", 100+i))
	}
	keys = append(keys, "column:a", "column:"+strings.Repeat("x", proxy.MaxKeyBytes))
	scanner := newShelf(keys...)
	c := New(catalog(t), newFake(), nil, Options{Scanner: scanner})
	s := c.NewSession()
	for options, want := range map[string]int{
		"": 51, "COUNT 1": 51, "COUNT 7": 51, "COUNT 100000": 51,
		"MATCH *": 51, "MATCH key:*": 25, "MATCH key:?1": 3, "MATCH k*:0[1-3] COUNT 3": 3, "match users:1?5": 2,
		"MATCH nobody:*": 0, "MATCH users": 0, "TYPE hash": 25, "TYPE string": 26, "TYPE list": 0, "TYPE string MATCH users:*": 0,
	} {
		got := all(t, s, options)
		slices.Sort(got)
		if len(got) != want || len(slices.Compact(got)) != want {
			t.Errorf("SCAN %s: %d keys, want %d", options, len(got), want)
		}
	}
	scanner.asked = 0
	all(t, s, "MATCH users:* COUNT 1000")
	if scanner.asked != 2 {
		t.Errorf("one use case was asked for %d times", scanner.asked)
	}
	if n := c.cursors.recent.Len(); n > 40 {
		t.Errorf("%d cursors are open after all listings have ended", n)
	}
}

func TestScanRefusals(t *testing.T) {
	scanner := newShelf("key:1", "key:2")
	s := New(catalog(t), newFake(), nil, Options{Scanner: scanner}).NewSession()
	for in, want := range map[string]string{
		"SCAN x":             errNoCursor.Error(),
		"SCAN 77":            errOldCursor.Error(),
		"SCAN 0 COUNT":       errSyntax.Error(),
		"SCAN 0 COUNT x":     errNoInteger.Error(),
		"SCAN 0 COUNT 0":     errSyntax.Error(),
		"SCAN 0 WHAT 1":      errSyntax.Error(),
		"HSCAN users:42 x":   errNoCursor.Error(),
		"HSCAN users:42 0 T": errSyntax.Error(),
		"HSCAN key:1 0":      errWrongType.Error(),
	} {
		if got := do(s, in+"\r\n"); got != "-"+want+"\r\n" {
			t.Errorf("%s: %q", in, got)
		}
	}
	scanner.err = proxy.ErrUnavailable
	if got := do(s, "SCAN 0\r\nPING\r\n"); !strings.HasPrefix(got, "-UNAVAILABLE ") || !strings.HasSuffix(got, "\r\n+PONG\r\n") {
		t.Errorf("a source that cannot answer: %q", got)
	}
	if got := do(newSession(t, newFake()), "SCAN 0\r\n"); got != "-"+errNoScanner.Error()+"\r\n" {
		t.Errorf("a source that lists no keys: %q", got)
	}
}

// A page that has not arrived can be asked for again; the one before it not.
func TestCursorsCanBeAskedAgain(t *testing.T) {
	var keys []string
	for i := range 9 {
		keys = append(keys, fmt.Sprintf("key:%d", i))
	}
	c := New(catalog(t), newFake(), nil, Options{Scanner: newShelf(keys...)})
	one, other := c.NewSession(), c.NewSession()
	first, _ := page(t, one, "0", "COUNT 2")
	second, got := page(t, one, first, "COUNT 2")
	_, again := page(t, other, first, "COUNT 2") // the connection was lost
	if !slices.Equal(got, again) || !slices.Equal(got, []string{"key:2", "key:3"}) {
		t.Errorf("got %v, and then %v", got, again)
	}
	third, got := page(t, other, second, "COUNT 2")
	if want := []string{"key:4", "key:5"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if got := do(one, "SCAN "+first+"\r\n"); got != "-"+errOldCursor.Error()+"\r\n" {
		t.Errorf("a cursor two pages back: %q", got)
	}
	page(t, one, third, "")
}

func TestCursorsAreBounded(t *testing.T) {
	c := newCursors()
	u := &proxy.UseCase{}
	kept := c.open(0, place{u, []byte("kept")})
	lost := c.open(0, place{u, []byte("lost")})
	for range maxCursors {
		if _, ok := c.find(kept); !ok {
			t.Fatal("a cursor in use is gone")
		}
		if id := c.open(0, place{useCase: u}); id == 0 || id >= 1<<cursorBits {
			t.Fatalf("cursor %d", id)
		}
	}
	if _, ok := c.find(lost); ok || len(c.byID) != maxCursors || c.recent.Len() != maxCursors {
		t.Errorf("%d cursors, %d in order", len(c.byID), c.recent.Len())
	}
}

// Use cases that somebody may not read are not there for them.
func TestScanShowsWhatMayBeRead(t *testing.T) {
	c := New(catalog(t), newFake(), nil, Options{Scanner: newShelf("key:1", "column:1", "users:1")})
	s := c.NewSession()
	rights := proxy.AllRights(c.catalog)
	rights.ByUseCase[c.catalog.Named("key").ID] = proxy.MayNothing
	rights.ByUseCase[c.catalog.Named("users").ID] = proxy.MayRead
	s.rights = rights
	for options, want := range map[string]string{"": "[column:1 users:1]", "MATCH key:*": "[]"} {
		if got := fmt.Sprint(all(t, s, options)); got != want {
			t.Errorf("SCAN %s: %v", options, got)
		}
	}
}

func TestHScan(t *testing.T) {
	story(t, newFake(), `
		HSCAN users:42 0 => *2 $1 0 *6 $2 id $2 42 $4 name $7 Ann "A" $5 admin $4 true
		HSCAN users:42 7 MATCH *d* COUNT 1 => *2 $1 0 *4 $2 id $2 42 $5 admin $4 true
		HSCAN users:42 0 MATCH note => *2 $1 0 *0
		HSCAN users:1 0 => *2 $1 0 *0`)
	s := newFake()
	s.errs["users:1"] = errors.New("away")
	story(t, s, `HSCAN users:1 0 MATCH a => -ERR away`)
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "", false}, {"*", "", true}, {"**", "abc", true}, {"a*c", "abbc", true}, {"a*c", "abbd", false},
		{"*a*b*", "xxaxxbxx", true}, {"*a*b*", "xxbxxaxx", false}, {"?", "", false}, {"??", "ab", true},
		{"[abc]", "b", true}, {"[^abc]", "b", false}, {"[^abc]", "d", true}, {"[a-c]x", "bx", true}, {"[c-a]", "b", true}, {"[a-", "-", true}, {"[", "a", false},
		{`\*`, "*", true}, {`\*`, "a", false}, {`[\]]`, "]", true}, {`[\-a]`, "-", true}, {`a\`, `a\`, true}, {"[]", "a", false}, {"[ab", "a", true}, {"users:%3A*", "users:%3Ax", true},
	} {
		if got := matches([]byte(c.pattern), []byte(c.text)); got != c.want {
			t.Errorf("%q on %q: %v", c.pattern, c.text, got)
		}
	}
	// A pattern that takes others exponential time.
	if matches([]byte(strings.Repeat("a*", 200)+"b"), []byte(strings.Repeat("a", 500))) {
		t.Error("matches")
	}
}
