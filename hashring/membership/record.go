package membership

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"strings"
	"time"
	"unicode"

	"github.com/freshet-cache/freshet/hashring"
)

// maxWord bounds what a node says of itself in words, so that every record,
// without its name, fits into the 512 bytes that gossip carries.
const maxWord = 64

// maxOccupancy is of more cores than any machine has.
const maxOccupancy = 1e6

// record is what travels of a peer. Nodes of other versions read it: fields
// are added, and keep their meaning.
type record struct {
	Name      string  `json:"n,omitempty"`
	Address   string  `json:"a"`
	Weight    int     `json:"w"`
	State     uint8   `json:"s,omitempty"`
	Zone      string  `json:"z,omitempty"`
	Joined    int64   `json:"j,omitempty"` // in ms since 1970
	Version   string  `json:"v,omitempty"`
	Occupancy float64 `json:"o,omitempty"`
	Pass      float64 `json:"p,omitempty"`
	Clients   string  `json:"c,omitempty"`
	Redirects string  `json:"r,omitempty"`
	Instance  uint64  `json:"i,omitempty"`
	Known     bool    `json:"k,omitempty"`
	Degraded  bool    `json:"d,omitempty"`
}

// Encode returns what a node tells the others of itself. It refuses words that
// are too long, or that a record cannot carry as they are.
func Encode(p Peer) ([]byte, error) {
	if err := p.words(); err != nil {
		return nil, err
	}
	r := record{
		Name: p.Name, Address: p.Address, Weight: p.Weight, State: uint8(p.State), Zone: p.Zone, Version: p.Version,
		Occupancy: rounded(p.Occupancy), Pass: rounded(p.Pass),
		Clients: p.Clients, Redirects: p.Redirects, Instance: p.Instance, Known: p.Known, Degraded: p.Degraded,
	}
	if !p.Joined.IsZero() {
		r.Joined = p.Joined.UnixMilli()
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(r)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// rounded keeps loads short, and small changes of them from being news.
func rounded(load float64) float64 { return math.Round(load*100) / 100 }

// Decode reads a record that was found at a host. The name that a directory
// knows a node by counts, if there is one.
func Decode(name, host string, data []byte) (Peer, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return Peer{}, err
	}
	if name == "" {
		name = r.Name
	}
	p := Peer{
		Member:  hashring.Member{Name: name, Weight: r.Weight, State: hashring.State(r.State), Zone: r.Zone},
		Address: r.Address, Version: r.Version, Occupancy: r.Occupancy, Pass: r.Pass,
		Clients: r.Clients, Redirects: r.Redirects, Instance: r.Instance, Known: r.Known, Degraded: r.Degraded,
	}
	if r.Joined != 0 {
		p.Joined = time.UnixMilli(r.Joined).UTC()
	}
	if err := p.Check(); err != nil {
		return Peer{}, err
	}
	if err := p.words(); err != nil {
		return Peer{}, err
	}
	if p.Occupancy < 0 || p.Occupancy > maxOccupancy || p.Pass < 0 || p.Pass > 1 {
		return Peer{}, fmt.Errorf("occupancy %v and pass %v are no loads", p.Occupancy, p.Pass)
	}
	return p.at(host), nil
}

// words checks what stands in a record as text. A character that has to be
// escaped takes the room of six; and addresses go on to clients, where the end
// of a line would be the end of a reply.
func (p *Peer) words() error {
	escaped := func(r rune) bool {
		return r == '"' || r == '\\' || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar || unicode.IsControl(r)
	}
	for _, word := range []string{p.Address, p.Zone, p.Version, p.Clients, p.Redirects} {
		switch {
		case len(word) > maxWord:
			return fmt.Errorf("%q has more than %d bytes", word, maxWord)
		case strings.ContainsFunc(word, escaped):
			return fmt.Errorf("%q has quotes, backslashes or control characters", word)
		}
	}
	return nil
}

// at completes what a node says of its addresses: who leaves out the host is
// at the one where it was found.
func (p Peer) at(host string) Peer {
	for _, address := range []*string{&p.Address, &p.Clients, &p.Redirects} {
		if port, ok := strings.CutPrefix(*address, ":"); ok {
			*address = net.JoinHostPort(host, port)
		}
	}
	return p
}
