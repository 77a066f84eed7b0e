package server

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-cache/freshet/proxy/command"
)

// elsewhere is a tier in which another node owns every key.
type elsewhere struct{ now *command.Topology }

func (e elsewhere) Topology() *command.Topology { return e.now }

func (e elsewhere) Slot([]byte) int { return 5 }

// Only the clients of a listener that redirects are told who owns a key, and
// the connections of all listeners count together.
func TestListenersSayWhetherTheyRedirect(t *testing.T) {
	members := []command.Member{{Name: "a"}, {Name: "b", Host: "10.0.0.2", Port: 6401}}
	tier := elsewhere{command.NewTopology(1, members, 0, func(int) command.Placed { return command.Placed{Owner: 1} })}
	commands := command.New(catalog(t), &table{}, nil, command.Options{Cluster: tier})
	s := New(commands, slog.New(slog.NewTextHandler(io.Discard, nil)), prometheus.NewRegistry(), Options{MaxConnections: 2})
	var listeners []Listener
	for _, redirect := range []bool{false, true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, Listener{Listener: l, Redirect: redirect})
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { s.Run(ctx, listeners...); close(done) }()
	defer func() { cancel(); <-done }()
	for i, want := range []string{"$-1\r\n", "-MOVED 5 10.0.0.2:6401\r\n"} {
		c := dial(t, listeners[i].Addr().String())
		send(t, c, "GET key:a\r\n")
		expect(t, c, want)
	}
	for _, l := range listeners {
		expectEnd(t, dial(t, l.Addr().String()), "-ERR max number of clients reached\r\n")
	}
}
