package kubernetes

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"

	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership/kubernetes/apitest"
)

func podRef(name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Pod", Name: name}
}

func TestListsThenWatches(t *testing.T) {
	t.Parallel()
	for name, streams := range map[string]bool{"lists": false, "streams": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.Do(apitest.Faults{Streams: streams})
			s.set("a", "pod-1", "pod-2")
			f := follow(t, s, 0)
			f.await("pod-1 pod-2", "")
			s.set("b", "pod-3")
			f.await("pod-1 pod-2 pod-3", "")
			s.set("a", "pod-2")
			f.await("pod-2 pod-3", "")
			s.Say(s.Bookmark())
			s.Remove("b")
			f.await("pod-2", "")
			s.Remove("a")
			f.await("", "") // which a membership does not believe
			if lists, want := s.Lists(), map[bool]int{false: 1, true: 0}[streams]; lists != want {
				t.Errorf("%d lists, want %d", lists, want)
			}
		})
	}
}

func TestWatchThatEndsGoesOn(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.set("a", "pod-1")
	f := follow(t, s, 0)
	f.await("pod-1", "")
	s.HangUp()
	s.set("a", "pod-1", "pod-2")
	s.AwaitWatch()
	s.set("b", "pod-3") // by the next watch, which tells of pod-2 as well
	f.await("pod-1 pod-2 pod-3", "")
}

// 410 Gone, in the middle of a watch and as its answer: the version from which
// to go on is too old, and everything is listed again.
func TestGoneIsListedAgain(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.set("a", "pod-1")
	f := follow(t, s, 0)
	f.await("pod-1", "")
	s.AwaitWatch()
	s.Put(slice("a", "pod-4")) // not heard of
	s.Say(apitest.Event("ERROR", map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}))
	f.await("pod-4", "")
	s.AwaitWatch()
	refusals := 1
	s.Put(slice("a", "pod-5"))
	s.Do(apitest.Faults{Refuse: func() int {
		if refusals--; refusals >= 0 {
			return http.StatusGone
		}
		return 0
	}})
	s.HangUp()
	f.await("pod-5", "")
}

func TestRefusalsAreToldAndGoOver(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"429": http.StatusTooManyRequests, "500": http.StatusInternalServerError, "403": http.StatusForbidden} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			refuses := apitest.Faults{Header: map[string]string{"Retry-After": "1"}, Refuse: func() int { return status }}
			s.Do(refuses)
			s.set("a", "pod-1")
			f := follow(t, s, 0)
			f.await("", name) // at first there is nothing to keep
			s.Do(apitest.Faults{})
			f.await("pod-1", "")
			s.AwaitWatch()
			s.Do(refuses)
			s.HangUp()
			f.await("pod-1", name)
			s.Do(apitest.Faults{})
			f.await("pod-1", "")
		})
	}
}

func TestServerThatIsAway(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.set("a", "pod-1")
	f := follow(t, s, 0)
	f.await("pod-1", "")
	s.AwaitWatch()
	s.CloseClientConnections()
	s.Listener.Close()
	f.await("pod-1", "refused")
}

func TestSilentServerIsTakenForDead(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.set("a", "pod-1")
	f := follow(t, s, 2*time.Second)
	f.await("pod-1", "says nothing") // in the middle of a watch
	f.await("pod-1", "")
	s.Do(apitest.Faults{Mute: true})
	s.HangUp()
	f.await("pod-1", "says nothing") // before an answer
	s.Do(apitest.Faults{})
	f.await("pod-1", "")
}

func TestHalfOfAnEvent(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.set("a", "pod-1")
	f := follow(t, s, 0)
	f.await("pod-1", "")
	s.AwaitWatch()
	s.Say(`{"type":"MODIFIED","object":{"kind":"EndpointSlice","apiVersion":"discov`)
	s.HangUp()
	s.AwaitWatch()
	s.set("b", "pod-2")
	f.await("pod-1 pod-2", "")
}

func TestMembersOfSlices(t *testing.T) {
	yes, no, zone := true, false, "eu-1"
	other, port := "clients", int32(6400)
	pods := slice("a", "pod-1", "pod-2", "pod-3", "pod-4", "pod-5")
	for i, c := range []discovery.EndpointConditions{{}, {Ready: &no}, {Ready: &no, Serving: &yes, Terminating: &yes}, {Ready: &yes, Terminating: &yes}, {Ready: &yes, Terminating: &no}} {
		pods.Endpoints[i].Conditions = c
	}
	pods.Endpoints[0].Zone = &zone
	six := slice("six", "pod-1", "pod-9")
	six.AddressType = discovery.AddressTypeIPv6
	six.Endpoints[0].Addresses, six.Endpoints[1].Addresses = []string{"fd00::1"}, []string{"fd00::9", "fd00::10"}
	moved := slice("moved", "pod-2")
	named := slice("named", "pod-7")
	named.Endpoints[0].TargetRef = nil
	named.Ports = append([]discovery.EndpointPort{{Name: &other, Port: &port}}, named.Ports...)
	hosts := slice("hosts", "pod-8")
	hosts.AddressType = discovery.AddressTypeFQDN
	portless := slice("portless", "pod-6")
	portless.Ports = nil
	wrong := slice("wrong", "pod-6")
	wrong.Ports[0].Name = &other
	homeless := slice("homeless", "pod-6")
	homeless.Endpoints[0].Addresses = nil
	nobody := slice("nobody")
	nobody.Ports = nil

	var objects []any
	for _, s := range []*discovery.EndpointSlice{&six, &pods, &moved, &named, &hosts, &portless, &wrong, &homeless, &nobody, {}} {
		objects = append(objects, s)
	}
	o := Options{Port: "peers"}
	peers, err := o.members(append(objects, "no slice at all"))
	var said []string
	for _, p := range peers {
		said = append(said, p.Name+" "+p.Address+" "+p.State.String()+" "+p.Zone)
	}
	want := []string{
		"10.0.0.7:7400 10.0.0.7:7400 serving ",
		"pod-1 10.0.0.1:7400 serving eu-1",
		"pod-2 10.0.0.2:7400 serving ",
		"pod-3 10.0.0.3:7400 leaving ",
		"pod-4 10.0.0.4:7400 leaving ",
		"pod-5 10.0.0.5:7400 serving ",
		"pod-9 [fd00::9]:7400 serving ",
	}
	if got := strings.Join(said, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("members\n%s", got)
	}
	for _, says := range []string{`slice portless has no port "peers"`, `slice wrong has no port "peers"`, "slice homeless has an endpoint without an address"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
	for _, p := range peers {
		if e := p.Check(); e != nil || p.State > hashring.Leaving {
			t.Errorf("%+v: %v", p, e)
		}
	}
}

func TestPortWithoutAName(t *testing.T) {
	s := slice("a", "pod-1")
	o := Options{}
	if p, err := o.members([]any{&s}); err != nil || len(p) != 1 || p[0].Address != "10.0.0.1:7400" {
		t.Errorf("%v, %v", p, err)
	}
	s.Ports = append(s.Ports, s.Ports[0])
	if p, err := o.members([]any{&s}); err == nil || len(p) != 0 {
		t.Errorf("one of two ports: %v", p)
	}
}

func TestOutsideOfACluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	d, err := New(slog.New(slog.DiscardHandler), Options{Namespace: "shop", Service: "tier"})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "cluster") {
		t.Errorf("Run: %v", err)
	}
	if d, err := New(slog.New(slog.DiscardHandler), Options{Service: "tier"}); err == nil {
		t.Errorf("without a namespace: %v", d)
	}
}
