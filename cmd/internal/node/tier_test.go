package node

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// among makes the tier of node a among others, of which nothing runs.
func among(t *testing.T, others ...membership.Peer) *tier {
	t.Helper()
	a := &tier{config: config.Default(), log: slog.New(slog.DiscardHandler), name: "a", degraded: func() bool { return false }}
	a.self = membership.Peer{Member: hashring.Member{Name: "a", Weight: 1, State: hashring.Serving}}
	ctx, cancel := context.WithCancel(t.Context())
	var err error
	if a.membership, err = membership.New(a.self, membership.Static(append(others, a.self)), a.log, membership.Options{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- a.membership.Run(ctx) }()
	<-a.membership.Heard()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return a
}

func busy(name string, occupancy float64, state hashring.State) membership.Peer {
	return membership.Peer{Member: hashring.Member{Name: name, Weight: 1, State: state}, Occupancy: occupancy}
}

// A node passes keys on while it has much more to do than the others, and much
// to do at all; and does not take them back because that helped.
func TestPassesKeysOn(t *testing.T) {
	for name, c := range map[string]struct {
		others   []membership.Peer
		own      []float64 // one window after the other
		from, to float64   // its pass in the end
	}{
		"even":               {[]membership.Peer{busy("b", 0.6, 0), busy("c", 0.5, 0)}, []float64{0.7}, 0, 0},
		"idle":               {[]membership.Peer{busy("b", 0.01, 0), busy("c", 0.01, 0)}, []float64{0.2}, 0, 0},
		"over":               {[]membership.Peer{busy("b", 0.3, 0), busy("c", 0.3, 0)}, []float64{0.9}, 0.2, 0.3},
		"over no more":       {[]membership.Peer{busy("b", 0.4, 0), busy("c", 0.4, 0)}, []float64{0.9, 0.6}, 0.05, 0.3},
		"over long ago":      {[]membership.Peer{busy("b", 0.3, 0), busy("c", 0.3, 0)}, []float64{0.9, 0.1}, 0, 0},
		"only others rest":   {[]membership.Peer{busy("b", 0.9, 0), busy("c", 0, hashring.Away)}, []float64{0.95}, 0, 0},
		"nobody else":        {nil, []float64{1}, 0, 0},
		"others who do more": {[]membership.Peer{busy("b", 1, 0)}, []float64{0.5}, 0, 0},
	} {
		a := among(t, c.others...)
		for _, occupancy := range c.own {
			a.occupied(occupancy)
		}
		if got := a.said(); got.Pass < c.from || got.Pass > c.to || got.Occupancy != c.own[len(c.own)-1] {
			t.Errorf("%s: it passes %.3f on, at %v", name, got.Pass, got.Occupancy)
		}
	}
}

// A node that fades in does little because it has few keys yet: that is no reason
// for the others to pass theirs on, neither before it has measured itself nor
// after.
func TestFadingInIsNoIdleness(t *testing.T) {
	now := time.Now().Truncate(10 * time.Second / 15) // where a scale-up may begin
	a, b, c := busy("a", 0.8, 0), busy("b", 0.8, 0), busy("c", 0, 0)
	rings, err := hashring.New(hashring.Options{Window: 10 * time.Second}, 1, []hashring.Member{a.Member, b.Member}, now.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	c.Joined = now
	if rings, err = rings.Next(2, []hashring.Member{a.Member, b.Member, c.Member}, now); err != nil {
		t.Fatal(err)
	}
	for after, occupancy := range map[time.Duration]float64{0: 0, 5 * time.Second: 0.1, 9 * time.Second: 0.55, time.Minute: 0.8} {
		c.Occupancy = occupancy
		view := &membership.View{Rings: rings, Peers: []membership.Peer{a, b, c}}
		if mean := meanOccupancy(view, "a", 0.8, now.Add(after)); mean < 0.75 || mean > 0.85 {
			t.Errorf("after %v the mean is %.2f", after, mean)
		}
	}
}

// Who listens everywhere leaves it to the others to know where it is.
func TestReached(t *testing.T) {
	taken := &net.TCPAddr{IP: net.IPv4zero, Port: 6490}
	here := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 6490}
	for _, c := range []struct {
		configured string
		taken      net.Addr
		want       string
	}{
		{"0.0.0.0:0", taken, ":6490"}, {":6490", taken, ":6490"}, {"[::]:6490", taken, ":6490"},
		{"10.0.0.1:0", here, "10.0.0.1:6490"}, {"cache-1:6490", here, "10.0.0.1:6490"},
	} {
		if got := reached(c.configured, c.taken); got != c.want {
			t.Errorf("%s: %s, want %s", c.configured, got, c.want)
		}
	}
}

// Nodes answer for each other only where a use case means the same.
func TestFingerprints(t *testing.T) {
	of := func(change func(*row.Mapping)) uint64 {
		m := &row.Mapping{Spec: row.Spec{Name: "users", Table: "users"}, Columns: []row.KeyColumn{{Name: "id"}}}
		change(m)
		c, err := proxy.NewCatalog(m)
		if err != nil {
			t.Fatal(err)
		}
		return fingerprints(c)[0]
	}
	same := of(func(*row.Mapping) {})
	for name, change := range map[string]func(*row.Mapping){
		"table": func(m *row.Mapping) { m.Table = "people" }, "column": func(m *row.Mapping) { m.Column = "name" },
		"key": func(m *row.Mapping) { m.Columns[0].Name = "email" }, "replica": func(m *row.Mapping) { m.Replica = true },
	} {
		if of(change) == same {
			t.Errorf("another %s means the same", name)
		}
	}
	if of(func(m *row.Mapping) { m.ReadOnly = true }) != same {
		t.Error("whether it may be written does not matter to reads")
	}
}

// A picture shows every member, and what members say of themselves is text.
func TestPictureOfTheRing(t *testing.T) {
	a := among(t, busy("b", 0.5, 0), busy("<c>", 0.5, hashring.Leaving))
	n := &Node{tier: a}
	r := &Ring{Self: "a", Rings: 1, Problems: []string{"<script>"}}
	view := a.membership.View()
	for _, p := range view.Peers {
		r.Members = append(r.Members, memberOf(view.Rings, p, sharesOf(view.Rings, time.Now())[p.Name], time.Now()))
	}
	var b strings.Builder
	if err := page.Execute(&b, n.picture(r)); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	if strings.Contains(html, "<script>") || strings.Contains(html, "<c>") || !strings.Contains(html, "&lt;c&gt;") {
		t.Error("what a node says of itself is markup")
	}
	if n := strings.Count(html, "<path "); n != samples+2 {
		t.Errorf("%d parts of the ring are drawn", n)
	}
}
