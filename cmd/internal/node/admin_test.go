package node

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func TestAdminPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var ok bool
	var problems []string
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	handler := adminHandler(newRegistry().handler(), func() (bool, []string) { return ok, problems })
	go func() { ended <- serveHTTP(ctx, l, handler) }()
	base := "http://" + l.Addr().String()
	for _, c := range []struct {
		ok       bool
		problems []string
		code     int
		body     string
	}{
		{false, []string{"stream: not attached"}, 503, "not ready\nstream: not attached\n"},
		{true, nil, 200, "ready\n"},
		{true, []string{"source: away"}, 200, "ready, degraded\nsource: away\n"},
	} {
		ok, problems = c.ok, c.problems
		if code, body := get(t, base+"/readyz"); code != c.code || body != c.body {
			t.Errorf("/readyz: %d %q, want %d %q", code, body, c.code, c.body)
		}
	}
	for path, want := range map[string]string{
		"/healthz": "ok", "/metrics": "go_goroutines", "/debug/pprof/goroutine?debug=1": "goroutine profile",
	} {
		if code, body := get(t, base+path); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d, without %q", path, code, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}
