package kubernetes

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-cache/freshet/hashring/membership"
	"github.com/freshet-cache/freshet/hashring/membership/kubernetes/apitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is the API server of the Service that tests follow.
type server struct{ *apitest.Server }

func serve(t *testing.T) server { return server{apitest.New(t, "shop", "tier")} }

// set changes a slice to these pods.
func (s server) set(name string, pods ...string) { s.Set(slice(name, pods...)) }

// slice has ready pods, each at an address of its own.
func slice(name string, pods ...string) discovery.EndpointSlice {
	ready, port, peers := true, int32(7400), "peers"
	s := discovery.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Namespace: "shop"},
		AddressType: discovery.AddressTypeIPv4,
		Ports:       []discovery.EndpointPort{{Name: &peers, Port: &port}},
	}
	for _, pod := range pods {
		e := discovery.Endpoint{Addresses: []string{"10.0.0." + strings.TrimPrefix(pod, "pod-")}, Conditions: discovery.EndpointConditions{Ready: &ready}}
		e.TargetRef = podRef(pod)
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}

// follower runs a directory against a server.
type follower struct {
	t     *testing.T
	tells chan told
}

type told struct {
	names   string
	problem string
}

func follow(t *testing.T, s server, silence time.Duration) *follower {
	t.Helper()
	d, err := New(slog.New(slog.DiscardHandler), Options{Namespace: "shop", Service: "tier", Port: "peers", Server: s.URL, Silence: silence})
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{t, make(chan told, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- d.Run(ctx, f.tell) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return f
}

func (f *follower) tell(peers []membership.Peer, err error) {
	var l told
	for _, p := range peers {
		l.names += " " + p.Name
	}
	l.names = strings.TrimSpace(l.names)
	if err != nil {
		l.problem = err.Error()
	}
	select {
	case <-f.tells:
	default:
	}
	f.tells <- l
}

// await takes what is told until the members and the problem are as wanted.
func (f *follower) await(names, problem string) {
	f.t.Helper()
	last, late := told{}, time.NewTimer(2*time.Minute)
	defer late.Stop()
	for {
		select {
		case last = <-f.tells:
			if last.names == names && (last.problem == "") == (problem == "") && strings.Contains(last.problem, problem) {
				return
			}
		case <-late.C:
			f.t.Fatalf("want %q and %q, last told %+v", names, problem, last)
		}
	}
}
