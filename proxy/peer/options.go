package peer

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// Options of a Server and of a Pool: one node gives both the same.
type Options struct {
	Name     string // this node's, as in the ring: 1 to 255 bytes
	Instance uint64 // of this start of it, random: tells two nodes of one name apart; 0: not told
	Tier     uint64 // fingerprint of source and topic: only nodes of one tier talk to each other

	// Database is what the source says it is now, and the same on all nodes that
	// read it; 0: not known yet. Default: it is not told, and not compared.
	Database func() uint64

	Catalog      *proxy.Catalog
	Fingerprints []uint64 // of each use case's meaning, by its ID: only what is the same at both ends is forwarded

	Key       []byte      // shared by the tier, 16 bytes or more; nil: no key is asked for
	ServerTLS *tls.Config // nil: plain TCP; for mutual TLS it asks for certificates itself
	ClientTLS *tls.Config // nil: plain TCP; the server's name is its address's host if none is set

	Connections int           // per peer; default 2
	Waiting     int           // requests that may wait for one peer; default 4,096. Callers of low priority get half
	WaitBytes   int           // bytes of these requests; default 8 MiB
	Serving     int           // requests of one connection that the server end works on at once; default 1,024
	KeepAlive   time.Duration // a silent connection is asked so often whether it lives, and given up after three times; default 1 s, at most 15 s
	Handshake   time.Duration // dial and handshake together; default 5 s
	Drain       time.Duration // how long a server that ends finishes what it has begun; default 5 s

	Log *slog.Logger // default: discards

	lowest, highest uint64 // protocol versions; tests speak others
}

const (
	minKeyBytes  = 16
	maxNameBytes = 255
	maxInbound   = 4096 // connections of a server; two of each of two thousand nodes
	maxStrangers = 256  // of these, in the handshake
	maxMember    = 255  // bytes of a member's name
	maxRecord    = 64 << 10
	maxHottest   = 64 << 10 // keys of one answer
	maxReason    = 512      // bytes of an error's text
	// maxKeys bounds a request: more keys travel in several.
	maxKeys = 1024
)

func (o Options) withDefaults() (Options, error) {
	switch {
	case len(o.Name) == 0 || len(o.Name) > maxNameBytes:
		return o, fmt.Errorf("a node's name has 1 to %d bytes, this one has %d", maxNameBytes, len(o.Name))
	case o.Catalog == nil || len(o.Fingerprints) != len(o.Catalog.All()):
		return o, errors.New("each use case needs a fingerprint")
	case len(appendTable(nil, o.Catalog, o.Fingerprints)) > maxTable:
		return o, fmt.Errorf("the use cases' names have more than %d bytes", maxTable)
	case len(o.Key) > 0 && len(o.Key) < minKeyBytes:
		return o, fmt.Errorf("a tier's key has at least %d bytes", minKeyBytes)
	case o.KeepAlive > longestSilence/4:
		return o, fmt.Errorf("peers are asked every %v or more often whether they live", longestSilence/4)
	}
	o.Connections = cmp.Or(o.Connections, 2)
	o.Waiting = cmp.Or(o.Waiting, 4096)
	o.WaitBytes = cmp.Or(o.WaitBytes, 8<<20)
	o.Serving = cmp.Or(o.Serving, 1024)
	o.KeepAlive = cmp.Or(o.KeepAlive, time.Second)
	o.Handshake = cmp.Or(o.Handshake, 5*time.Second)
	o.Drain = cmp.Or(o.Drain, 5*time.Second)
	o.lowest = cmp.Or(o.lowest, lowestVersion)
	o.highest = cmp.Or(o.highest, highestVersion)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.ServerTLS, o.ClientTLS = modern(o.ServerTLS), modern(o.ClientTLS)
	return o, nil
}

// modern is a TLS configuration of at least 1.3, in which each session has
// secrets of its own that a proof can be bound to.
func modern(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	c = c.Clone()
	c.MinVersion = max(c.MinVersion, tls.VersionTLS13)
	return c
}
