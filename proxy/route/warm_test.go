package route

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Warm takes the lists in turns, at the rate that it is given, and ends with ctx.
func TestWarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, Options{})
		list := func(keys string) (out [][]byte) {
			for _, k := range strings.Fields(keys) {
				out = append(out, []byte(k))
			}
			return out
		}
		began := time.Now()
		n := s.Warm(t.Context(), 100, list("users:40 users:41 nothing:1 users:42"), list("users:90 users:40"), nil)
		var got []string
		for _, r := range s.own.got {
			got = append(got, string(r.Key.Text))
			if r.Unkept {
				t.Errorf("%s is not kept", r.Key.Text)
			}
		}
		if want := "users:40 users:90 users:41 users:42"; n != 4 || strings.Join(got, " ") != want {
			t.Errorf("%d: %v", n, got)
		}
		if n := s.metrics.warmed.Load(); n != 4 {
			t.Errorf("%d reads are counted", n)
		}
		var many [][]byte
		for i := range 1000 {
			many = append(many, fmt.Appendf(nil, "users:%d", i))
		}
		if n = s.Warm(t.Context(), 100, many); n != 1000 || time.Since(began) < 9*time.Second {
			t.Errorf("%d keys in %v", n, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if n = s.Warm(ctx, 100, many); n < 90 || n > 120 {
			t.Errorf("%d keys in a second", n)
		}
	})
}

func TestHottest(t *testing.T) {
	s := newScene(t, Options{})
	for i := range 20_000 {
		s.read(t, "users:1")
		if i%4 == 0 {
			s.read(t, "users:2 users:3")
		}
	}
	got := s.Hottest(func(key []byte) bool { return string(key) != "users:3" }, 5)
	if len(got) != 2 || string(got[0]) != "users:1" || string(got[1]) != "users:2" {
		t.Errorf("hottest: %q", got)
	}
}
