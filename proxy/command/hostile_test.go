package command

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
)

// repeated is a request of some words, and one said many times behind them.
func repeated(first, word string, times int) string {
	return multibulk(append(strings.Fields(first), slices.Repeat([]string{word}, times)...)...)
}

// However often a request names one column, no more of the reply is held at a
// time than fits, and one value.
func TestRepeatedColumnIsAnsweredInParts(t *testing.T) {
	const flush, value, times = 1 << 10, 4 << 10, 500
	src := newFake()
	src.rows["users:42"] = encode(user, "42", strings.Repeat("x", value), "true", "")
	for _, proof := range []bool{false, true} {
		session := New(catalog(t), src, src, Options{FlushBytes: flush}).NewSession()
		if proof {
			do(session, "HELLO 3\nFRESHET.PROOF ON\n")
		}
		one := strings.TrimPrefix(do(session, "HMGET users:42 name\n"), "*1\r\n")
		attribute, text, _ := strings.Cut(one, "*1\r\n")
		if !proof {
			attribute, text = "", one
		}
		in := []byte(repeated("HMGET users:42", "name", times))
		var got bytes.Buffer
		most := 0
		for next := Again; next == Again; {
			var n int
			n, next = session.Step(context.Background(), in)
			in = in[n:]
			most = max(most, len(session.Replies()))
			got.Write(session.Replies())
		}
		if most > flush+2*value {
			t.Errorf("proof %v: %d bytes of the reply are held at a time", proof, most)
		}
		if want := len(attribute) + len("*500\r\n") + times*len(text); got.Len() != want {
			t.Errorf("proof %v: the reply has %d bytes, want %d", proof, got.Len(), want)
		}
	}
}

// No request makes work or replies that are many times its size: what is looked
// for among the others, or answered with far more than was said, is bounded.
func TestRequestsThatAskForTooMuch(t *testing.T) {
	long := strings.Repeat("x", maxPattern+1)
	for _, c := range []struct {
		request string
		want    refusal
	}{
		{repeated("COMMAND DOCS", "client", maxNames+1), errNames},
		{repeated("COMMAND INFO", "client", maxNames+1), errNames},
		{repeated("CONFIG GET", "*", maxNames+1), errNames},
		{repeated("HSET users:42", "name", 2*(maxFields+1)), errFields},
		{repeated("HMSET users:42", "name", 2*(maxFields+1)), errFields},
		{repeated("HDEL users:42", "note", maxFields+1), errFields},
		{multibulk("CONFIG", "GET", "*", long), errPattern},
		{multibulk("SCAN", "0", "MATCH", long), errPattern},
		{multibulk("HSCAN", "users:42", "0", "MATCH", long), errPattern},
	} {
		if got := do(newSession(t, newFake()), c.request); got != "-"+string(c.want)+"\r\n" {
			t.Errorf("%.60q: got %.100q, want %q", c.request, got, c.want)
		}
	}
	for _, request := range []string{
		repeated("COMMAND INFO", "ping", maxNames), repeated("HDEL users:42", "note", maxFields), multibulk("CONFIG", "GET", long[1:]),
	} {
		if got := do(newSession(t, newFake()), request); strings.HasPrefix(got, "-") {
			t.Errorf("%.60q: got %.100q", request, got)
		}
	}
}
