package node

import (
	"context"
	"time"

	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/clock"
)

// Seams are the places at which a conformance run steps between the parts, to
// make the faults that no signal and no cable can make. A nil seam is closed,
// as all of them are in the product.
type Seams struct {
	Source proxy.Stage                   // in front of a node's source
	Probe  func(Probe) Probe             // in front of its source's clock
	Local  func() time.Duration          // its local clock
	Topic  func(relay.Topic) relay.Topic // between a relay and its topic
}

// Probe asks a source who it is and what its clock says.
type Probe func(context.Context) (proxy.Identity, proxy.Time, error)

func (s Seams) withDefaults() Seams {
	if s.Source == nil {
		s.Source = func(source proxy.Source) proxy.Source { return source }
	}
	if s.Probe == nil {
		s.Probe = func(p Probe) Probe { return p }
	}
	if s.Local == nil {
		s.Local = clock.Boottime
	}
	if s.Topic == nil {
		s.Topic = func(t relay.Topic) relay.Topic { return t }
	}
	return s
}
