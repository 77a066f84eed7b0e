package gossip

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
)

// maxText bounds what a node says of itself in words, so that every record
// fits into what memberlist carries (512 bytes).
const maxText = 64

// maxOccupancy is of more cores than any machine has.
const maxOccupancy = 1e6

// record is what travels of a peer beside its name. Nodes of other versions
// read it: fields are added, and keep their meaning.
type record struct {
	Address   string  `json:"a"`
	Weight    int     `json:"w"`
	State     uint8   `json:"s,omitempty"`
	Zone      string  `json:"z,omitempty"`
	Joined    int64   `json:"j,omitempty"` // in ms since 1970
	Version   string  `json:"v,omitempty"`
	Occupancy float64 `json:"o,omitempty"`
	Pass      float64 `json:"p,omitempty"`
}

func encode(p membership.Peer) ([]byte, error) {
	for _, word := range []string{p.Address, p.Zone, p.Version} {
		if len(word) > maxText {
			return nil, fmt.Errorf("%q has more than %d bytes", word, maxText)
		}
	}
	r := record{
		Address: p.Address, Weight: p.Weight, State: uint8(p.State), Zone: p.Zone, Version: p.Version,
		Occupancy: rounded(p.Occupancy), Pass: rounded(p.Pass),
	}
	if !p.Joined.IsZero() {
		r.Joined = p.Joined.UnixMilli()
	}
	return json.Marshal(r)
}

// rounded keeps loads short, and small changes of them from being news.
func rounded(load float64) float64 { return math.Round(load*100) / 100 }

func decode(name string, data []byte) (membership.Peer, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return membership.Peer{}, err
	}
	p := membership.Peer{
		Member:  hashring.Member{Name: name, Weight: r.Weight, State: hashring.State(r.State), Zone: r.Zone},
		Address: r.Address, Version: r.Version, Occupancy: r.Occupancy, Pass: r.Pass,
	}
	if r.Joined != 0 {
		p.Joined = time.UnixMilli(r.Joined).UTC()
	}
	if err := p.Check(); err != nil {
		return membership.Peer{}, err
	}
	if p.Occupancy < 0 || p.Occupancy > maxOccupancy || p.Pass < 0 || p.Pass > 1 {
		return membership.Peer{}, fmt.Errorf("occupancy %v and pass %v are no loads", p.Occupancy, p.Pass)
	}
	return p, nil
}
