package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"
)

func (n *Node) serveAdmin(ctx context.Context) error {
	mux := adminHandler(n.registry.handler(), n.ready)
	mux.HandleFunc("GET /audit", func(w http.ResponseWriter, _ *http.Request) { answerAudit(w, n.auditor) })
	mux.HandleFunc("GET /ring", n.answerRing)
	return serveHTTP(ctx, n.admin, mux)
}

// adminHandler is what the admin port answers: for people and their tools, not
// for clients.
func adminHandler(metrics http.Handler, ready func() (bool, []string)) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answerReady(w, ready) })
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

func answerReady(w http.ResponseWriter, ready func() (bool, []string)) {
	ok, problems := ready()
	verdict := "ready"
	switch {
	case !ok:
		verdict = "not ready"
		w.WriteHeader(http.StatusServiceUnavailable)
	case len(problems) > 0:
		verdict = "ready, degraded"
	}
	fmt.Fprintln(w, strings.Join(append([]string{verdict}, problems...), "\n"))
}

// serveHTTP serves until ctx ends; requests that last longer than a second
// after that (a profile, say) are cut.
func serveHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if s.Shutdown(grace) != nil {
		s.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
