package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealthcheck(t *testing.T) {
	answers := func(status int, said string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" {
				status = http.StatusNotFound
			}
			w.WriteHeader(status)
			fmt.Fprintln(w, said)
		}))
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	nobody := answers(200, "")
	for _, c := range []struct {
		admin, want string
		code        int
	}{
		{answers(200, "ready, degraded"), "ready, degraded", 0},
		{answers(503, "not ready\nsource: not asked yet"), "source: not asked yet", 1},
		{nobody[:strings.LastIndex(nobody, ":")] + ":1", "is it running", 1},
		{"no address", "give HOST:PORT", 2},
	} {
		code, stdout, stderr := called(t, "healthcheck", "--admin", c.admin)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: exit code %d, said %q %q; want %d and %q", c.admin, code, stdout, stderr, c.code, c.want)
		}
	}
}
