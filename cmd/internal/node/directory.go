package node

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"log/slog"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
	"github.com/freshet-cache/freshet/hashring/membership/gossip"
	"github.com/freshet-cache/freshet/hashring/membership/kubernetes"
	"github.com/freshet-cache/freshet/proxy/peer"
)

// directory returns the one that is configured. What nodes say of themselves
// comes by gossip, or they are asked.
func (t *tier) directory(c *config.Tier) (membership.Directory, error) {
	var addresses membership.Directory
	switch c.Directories()[0] {
	case "gossip":
		var err error
		t.gossip, err = gossip.New(t.said(), t.log, gossip.Options{
			Listen: c.Gossip.Listen, Advertise: c.Gossip.Announce, Seeds: c.Gossip.Seeds,
			Key: gossipKey(c.Key), Tier: c.Gossip.Tier, Owners: t.owners,
		})
		return t.gossip, err
	case "dns":
		addresses = membership.DNS{Name: c.DNS.Name, Port: c.DNS.Port, Every: time.Duration(c.DNS.Every)}
	case "kubernetes":
		k := &c.Kubernetes
		d, err := kubernetes.New(t.log, kubernetes.Options{
			Namespace: k.Namespace, Service: k.Service, Port: k.Port, Server: k.Server, TokenFile: k.TokenFile, CAFile: k.CAFile,
		})
		if err != nil {
			return nil, err
		}
		addresses = d
	default:
		addresses = staticOf(c.Members)
	}
	every := time.Duration(c.AskEvery)
	return membership.Asked{Addresses: addresses, Asker: t.asker, Self: t.said, Every: every, Timeout: max(every, leastPatience)}, nil
}

// leastPatience is how long an answer may take, at least: a busy node is not
// away.
const leastPatience = time.Second

func staticOf(addresses []string) (list membership.Static) {
	for _, a := range addresses {
		list = append(list, membership.Peer{Member: hashring.Member{Name: a, Weight: 1}, Address: a})
	}
	return list
}

// gossipKey makes a key of the length that gossip needs of the tier's own.
func gossipKey(key config.Secret) []byte {
	if !key.Given() {
		return nil
	}
	mac := hmac.New(sha256.New, []byte(key.Value()))
	mac.Write([]byte("freshet gossip"))
	return mac.Sum(nil)
}

// asker asks nodes by the protocol of peers, and knows which it asked.
type asker struct {
	pool *peer.Pool

	mu   sync.Mutex
	last map[string]time.Time // by address
}

// Ask implements membership.Asker.
func (a *asker) Ask(ctx context.Context, address string) ([]byte, error) {
	a.mu.Lock()
	a.last[address] = time.Now()
	a.mu.Unlock()
	return a.pool.To("", address).Ask(ctx)
}

// askedLately is longer than any question is apart from the next: until then a
// connection is kept.
const askedLately = 3 * time.Minute

// asked returns the addresses that were asked lately.
func (a *asker) asked(now time.Time) (addresses []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for address, at := range a.last {
		if now.Sub(at) > askedLately {
			delete(a.last, address)
			continue
		}
		addresses = append(addresses, address)
	}
	return addresses
}

// owners names the members that have keys.
func (t *tier) owners() (names []string) {
	view := t.membership.View()
	for _, p := range view.Peers {
		if view.Owns(p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// warned logs what keeps a node from saying what it is.
func warned(log *slog.Logger, err error) {
	if err != nil {
		log.Error("members: what this node says of itself", "error", err)
	}
}
