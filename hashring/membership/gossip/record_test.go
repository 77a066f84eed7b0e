package gossip

import (
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
)

func TestRecordFits(t *testing.T) {
	word := strings.Repeat("\u2028", maxText/3) // six bytes each in JSON
	p := membership.Peer{
		Member:  hashring.Member{Name: strings.Repeat("n", 255), Weight: 100, State: hashring.Leaving, Zone: word, Joined: joined},
		Address: word, Version: word, Occupancy: 123456.78, Pass: 0.95,
	}
	data, err := encode(p)
	if err != nil || len(data) > memberlist.MetaMaxSize {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if got, err := decode(p.Name, data); err != nil || got != p {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRecordOfAnotherVersion(t *testing.T) {
	p, err := decode("a", []byte(`{"a":"h:1","w":3,"new":{"x":[1]}}`))
	if err != nil || p.Weight != 3 || p.Address != "h:1" || p.State != hashring.Serving || !p.Joined.IsZero() {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, data := range []string{"", "{", `{"w":0}`, `{"w":-1}`, `{"w":101}`, `{"w":1,"s":9}`, `{"w":1,"o":-1}`, `{"w":1,"o":1e9}`, `{"w":1,"p":1.5}`, `{"w":1e99}`, `[]`} {
		if p, err := decode("a", []byte(data)); err == nil {
			t.Errorf("%s: %+v", data, p)
		}
	}
}

// FuzzDecode takes any bytes for a record: it is refused, or a peer that can be
// told on, with the same meaning.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"a":"10.0.0.1:7400","w":2,"s":1,"z":"eu-1","j":1772366400000,"v":"1.2.3","o":0.5,"p":0.25}`))
	f.Add([]byte(`{"w":1,"j":-1}`))
	f.Add([]byte(`{"w":1,"j":9223372036854775807}`))
	f.Add([]byte(`{"w":1,"o":1e308}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decode("a", data)
		if err != nil {
			return
		}
		again, err := encode(p)
		if err != nil {
			return // words that are too long: it is told of, and tells nobody
		}
		q, err := decode("a", again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		p.Occupancy, p.Pass = rounded(p.Occupancy), rounded(p.Pass)
		if p != q {
			t.Errorf("%+v came back as %+v", p, q)
		}
	})
}
