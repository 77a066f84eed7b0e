package resp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// parse feeds a stream in pieces of the given sizes, in turn, and returns
// every request as its arguments, and the error that ended it.
func parse(limits Limits, stream string, sizes ...int) (requests [][]string, err error) {
	return feed(NewParser(limits), stream, sizes...)
}

func feed(p *Parser, stream string, sizes ...int) (requests [][]string, err error) {
	var buf []byte
	for i := 0; ; i++ {
		for {
			args, n, err := p.Next(buf)
			if err != nil {
				return requests, err
			}
			if args != nil {
				var words []string
				for _, a := range args {
					words = append(words, string(a))
				}
				requests = append(requests, words)
			}
			buf = bytes.Clone(buf[n:]) // a buffer that moves every time
			if args == nil {
				break
			}
		}
		if stream == "" {
			return requests, nil
		}
		n := min(max(1, sizes[i%len(sizes)]), len(stream))
		buf, stream = append(buf, stream[:n]...), stream[n:]
	}
}

var small = Limits{Args: 8, BulkBytes: 64, InlineBytes: 48, RequestBytes: 128}

func TestParser(t *testing.T) {
	x := strings.Repeat("x", 64) // longer than a line may be, as long as a bulk may be
	for _, c := range []struct {
		in   string
		want string // requests in %q, then the error
	}{
		{"*1\r\n$4\r\nPING\r\n", `[["PING"]]`},
		{"*2\r\n$3\r\nGET\r\n$0\r\n\r\n", `[["GET" ""]]`},
		{"*0\r\n*-1\r\n\r\n\n*-55\r\nPING\r\n", `[["PING"]]`},
		{"*1\r\n$4\r\nPINGxx*1\rx$1\rxAzz", `[["PING"] ["A"]]`},
		{"*1\r\n$" + "64\r\n" + x + "\r\n", `[["` + x + `"]]`},
		{"*2\r\n$3\r\nGET\r\n$-1\r\n", `[] Protocol error: invalid bulk length`},
		{"*1\r\n$65\r\n", `[] Protocol error: invalid bulk length`},
		{"*1\r\n$-0\r\n", `[] Protocol error: invalid bulk length`},
		{"*1\r\n$01\r\n", `[] Protocol error: invalid bulk length`},
		{"*1\r\n$+1\r\n", `[] Protocol error: invalid bulk length`},
		{"*1\r\n$\r\n", `[] Protocol error: invalid bulk length`},
		{"*1\r\n$9223372036854775807\r\n", `[] Protocol error: invalid bulk length`},
		{"*1\r\n$99999999999999999999999999\r\n", `[] Protocol error: invalid bulk length`},
		{"*1\r\n:1\r\n", `[] Protocol error: expected '$', got ':'`},
		{"*abc\r\n", `[] Protocol error: invalid multibulk length`},
		{"*9\r\n", `[] Protocol error: invalid multibulk length`},
		{"*\r\n", `[] Protocol error: invalid multibulk length`},
		{"*9223372036854775807\r\n", `[] Protocol error: invalid multibulk length`},
		{"*3\r\n$50\r\n" + x[:50] + "\r\n$50\r\n" + x[:50] + "\r\n$50\r\n", `[] Protocol error: too big request`},
		{"PING\r\n*1\r\n$3\r\nabc\r\n*x\r\n", `[["PING"] ["abc"]] Protocol error: invalid multibulk length`},
		{"get  a\tb \r\nPING\n", `[["get" "a" "b"] ["PING"]]`},
		{`SET "k y" "v\x00\r\n\t\b\a\\\"\q\xzz"` + "\n", `[["SET" "k y" "v\x00\r\n\t\b\a\\\"qxzz"]]`},
		{`a 'b\'c\n' d"e f" ""` + "\r\n", `[["a" "b'c\\n" "de f" ""]]`},
		{`a "b` + "\r\n", `[] Protocol error: unbalanced quotes in request`},
		{`a "b"c` + "\r\n", `[] Protocol error: unbalanced quotes in request`},
		{`a 'b\` + "\r\n", `[] Protocol error: unbalanced quotes in request`},
		{"a\x00b\r\n", `[] Protocol error: NUL in an inline request`},
		{x, `[] Protocol error: too big inline request`},
		{x + "\r\n", `[] Protocol error: too big inline request`},
		{"*1\r\n$4\r\nPI", `[]`},
	} {
		for size := range len(c.in) {
			requests, err := parse(small, c.in, len(c.in)-size)
			got := fmt.Sprintf("%q", requests)
			if err != nil {
				got += " " + err.Error()
			}
			if got != c.want {
				t.Errorf("%q in pieces of %d: got %s, want %s", c.in, len(c.in)-size, got, c.want)
				break
			}
		}
	}
}

// P36: who has not authenticated is refused by Redis' words as soon as the line
// of a length is there, and may send more once he has.
func TestStrangers(t *testing.T) {
	limits := Limits{Args: 1 << 20, BulkBytes: 32 << 20, StrangerInlineBytes: 32}
	word := strings.Repeat("x", 16<<10)
	for _, c := range []struct {
		in   string
		want error
	}{
		{"*10\r\n", nil},
		{"*11\r", nil},
		{"*11\r\n", errStrangerMultibulk},
		{"*1000000\r\n", errStrangerMultibulk},
		{"*1048577\r\n", errMultibulk},
		{"*1\r\n$16384\r\n" + word, nil},
		{"*1\r\n$16385\r", nil},
		{"*1\r\n$16385\r\n", errStrangerBulk},
		{"*1\r\n$33554433\r\n", errBulk},
		{"PING " + word[:27], nil},
		{"PING " + word[:28], errInlineLong},
		{"PING " + word[:28] + "\r\n", errInlineLong},
	} {
		for _, stranger := range []bool{true, false} {
			p := NewParser(limits)
			p.Restrict(true)
			p.Restrict(stranger)
			want := c.want
			if !stranger && want != errMultibulk && want != errBulk {
				want = nil
			}
			if _, _, err := p.Next([]byte(c.in)); err != want {
				t.Errorf("%.30q, stranger %v: %v, want %v", c.in, stranger, err, want)
			}
		}
	}
}

func TestEveryOffset(t *testing.T) {
	const stream = "*2\r\n$3\r\nGET\r\n$5\r\nkey:a\r\nGET \"key b\"\r\n*0\r\n\r\n*1\r\n$4\r\nPING\r\nECHO x\n"
	want, _ := parse(Limits{}, stream, len(stream))
	for at := 1; at < len(stream); at++ {
		if got, err := parse(Limits{}, stream, at, len(stream)); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("split at %d: %q, %v; want %q", at, got, err, want)
		}
	}
}

func TestPiecesOfPipeline(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "*3\r\n$3\r\nSET\r\n$%d\r\nk%d\r\n$3\r\n$1\r\r\n", len(fmt.Sprint(i))+1, i)
	}
	random := rand.New(rand.NewPCG(1, 2))
	sizes := make([]int, 5000)
	for i := range sizes {
		sizes[i] = 1 + random.IntN(17)
	}
	got, err := parse(Limits{}, b.String(), sizes...)
	if err != nil || len(got) != 1000 {
		t.Fatalf("%d requests, %v", len(got), err)
	}
	for i, r := range got {
		if want := []string{"SET", fmt.Sprintf("k%d", i), "$1\r"}; !reflect.DeepEqual(r, want) {
			t.Fatalf("request %d is %q, want %q", i, r, want)
		}
	}
}

func TestAllocations(t *testing.T) {
	p := NewParser(Limits{})
	stream := []byte(strings.Repeat("*2\r\n$3\r\nGET\r\n$5\r\nkey:a\r\n", 16) + "PING\r\n")
	if n := testing.AllocsPerRun(100, func() {
		for rest := stream; len(rest) > 0; {
			args, n, err := p.Next(rest)
			if args == nil || err != nil {
				t.Fatal(args, err)
			}
			rest = rest[n:]
		}
	}); n != 0 {
		t.Errorf("%v allocations for a batch, want none", n)
	}
}

// An announcement costs nothing: only bytes do.
func TestAnnouncedLengthAllocatesNothing(t *testing.T) {
	const parsers = 1000
	all := make([]*Parser, parsers)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range all {
		all[i] = NewParser(Limits{})
		if _, _, err := all[i].Next([]byte("*1000000\r\n$33554432\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / parsers; got > 1024 {
		t.Errorf("%d bytes for an announcement", got)
	}
}

// A request of many arguments leaves no room behind, and no hold on its buffer.
func TestLargeRequestIsForgotten(t *testing.T) {
	p := NewParser(Limits{})
	large := fmt.Sprintf("*%d\r\n", 100_000) + strings.Repeat("$1\r\nx\r\n", 100_000)
	if args, _, err := p.Next([]byte(large)); len(args) != 100_000 || err != nil {
		t.Fatal(len(args), err)
	}
	if _, _, err := p.Next([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	if cap(p.args) > keepArgs || cap(p.spans) > keepArgs {
		t.Errorf("room for %d arguments is kept", cap(p.args))
	}
	p.Next(nil)
	for _, a := range p.args[:cap(p.args)] {
		if a != nil {
			t.Errorf("argument %q is held on to", a)
		}
	}
}

// One byte at a time must cost linear time, also on a line without an end.
func TestSlowLineIsScannedOnce(t *testing.T) {
	p := NewParser(Limits{})
	line := bytes.Repeat([]byte{'a'}, 60<<10)
	for n := range line {
		if _, _, err := p.Next(line[:n]); err != nil {
			t.Fatal(err)
		}
		if n > 0 && p.seen != n {
			t.Fatalf("%d of %d bytes are remembered", p.seen, n)
		}
	}
}

func FuzzParser(f *testing.F) {
	for _, s := range []string{
		"*2\r\n$3\r\nGET\r\n$5\r\nkey:a\r\n", "*0\r\n\r\nPING\r\n", "*1\r\n$9223372036854775807\r\n",
		"*9223372036854775807\r\n", "SET \"k\\x00\" 'v'\r\n", "*-1\r\n*1\r\n$-1\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$10\r\n0123456789\r\n*1\r\n$4\r\nPINGxx",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n",
	} {
		f.Add([]byte(s), uint8(1), uint8(7))
	}
	limits := Limits{Args: 16, BulkBytes: 64, InlineBytes: 64, RequestBytes: 256, StrangerArgs: 4, StrangerBulkBytes: 16, StrangerInlineBytes: 32}
	f.Fuzz(func(t *testing.T, stream []byte, a, b uint8) {
		original := string(stream)
		stranger := a%2 == 1
		parse := func(sizes ...int) ([][]string, error) {
			p := NewParser(limits)
			p.Restrict(stranger)
			return feed(p, string(stream), sizes...)
		}
		whole, wholeErr := parse(len(stream) + 1)
		pieces, piecesErr := parse(int(a), int(b))
		// In one piece an error may be seen only after requests before it: both
		// must come to the same.
		if !reflect.DeepEqual(whole, pieces) || wholeErr != piecesErr {
			t.Errorf("whole: %q, %v; in pieces of %d and %d: %q, %v", whole, wholeErr, a, b, pieces, piecesErr)
		}
		for _, r := range whole {
			total := 0
			for _, w := range r {
				total += len(w)
			}
			if len(r) > limits.Args && total > limits.InlineBytes || total > limits.RequestBytes {
				t.Errorf("a request of %d arguments and %d bytes passed the limits", len(r), total)
			}
			if stranger && len(r) > limits.StrangerArgs && total > limits.StrangerInlineBytes {
				t.Errorf("a stranger's request of %d arguments and %d bytes passed the limits", len(r), total)
			}
		}
		if string(stream) != original {
			t.Error("the input was changed")
		}
	})
}

func BenchmarkParser(b *testing.B) {
	p := NewParser(Limits{})
	stream := []byte("*2\r\n$3\r\nGET\r\n$10\r\nkey:000001\r\n")
	b.ReportAllocs()
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		if _, _, err := p.Next(stream); err != nil {
			b.Fatal(err)
		}
	}
}
