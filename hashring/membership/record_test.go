package membership

import (
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/hashring"
)

// memberlist carries 512 bytes.
const carried = 512

func TestRecordFits(t *testing.T) {
	word := strings.Repeat("\u00e9", maxWord/2)
	p := Peer{
		Member: hashring.Member{
			Name: "n", Weight: 100, State: hashring.Leaving, Zone: word,
			Joined: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		},
		Address: word, Clients: word, Redirects: word, Version: word, Occupancy: 123456.78, Pass: 0.95, Instance: 1<<64 - 1, Known: true, Degraded: true,
	}
	data, err := Encode(p)
	if err != nil || len(data) > carried {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if got, err := Decode("", "host", data); err != nil || got != p {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Decode("known", "host", data); err != nil || got.Name != "known" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRecordOfAnotherVersion(t *testing.T) {
	p, err := Decode("a", "host", []byte(`{"a":"h:1","w":3,"new":{"x":[1]}}`))
	if err != nil || p.Weight != 3 || p.Address != "h:1" || p.State != hashring.Serving || !p.Joined.IsZero() {
		t.Errorf("%+v, %v", p, err)
	}
}

// Who listens everywhere leaves it to the others to know where it is.
func TestHostWhereItWasFound(t *testing.T) {
	p, err := Decode("a", "2001:db8::1", []byte(`{"a":":7400","w":1,"c":":6400","r":"cache.example:6401"}`))
	if err != nil || p.Address != "[2001:db8::1]:7400" || p.Clients != "[2001:db8::1]:6400" || p.Redirects != "cache.example:6401" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, data := range []string{
		"", "{", `{"w":0}`, `{"w":-1}`, `{"w":101}`, `{"w":1,"s":9}`, `{"w":1,"o":-1}`, `{"w":1,"o":1e9}`, `{"w":1,"p":1.5}`, `{"w":1e99}`, `[]`,
		`{"w":1,"r":"a:1\r\n-MOVED"}`, `{"w":1,"a":"` + strings.Repeat("a", maxWord+1) + `"}`,
	} {
		if p, err := Decode("a", "host", []byte(data)); err == nil {
			t.Errorf("%s: %+v", data, p)
		}
	}
	if p, err := Decode("", "host", []byte(`{"w":1}`)); err == nil {
		t.Errorf("without a name: %+v", p)
	}
}

func TestEncodeRefusesWords(t *testing.T) {
	for _, word := range []string{strings.Repeat("z", maxWord+1), `"`, "\n", "\u2028", "\xff"} {
		p := peerAt("a", 1)
		p.Zone = word
		if data, err := Encode(p); err == nil {
			t.Errorf("%q: %s", word, data)
		}
	}
}

// FuzzDecode takes any bytes for a record: it is refused, or a peer that can be
// told on, with the same meaning.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"a":"10.0.0.1:7400","w":2,"s":1,"z":"eu-1","j":1772366400000,"v":"1.2.3","o":0.5,"p":0.25,"c":":6400","i":7}`))
	f.Add([]byte(`{"w":1,"j":-1,"k":true}`))
	f.Add([]byte(`{"w":1,"j":9223372036854775807}`))
	f.Add([]byte(`{"w":1,"o":1e308}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode("a", "", data)
		if err != nil {
			return
		}
		again, err := Encode(p)
		if err != nil {
			t.Fatalf("%+v was read, and cannot be told on: %v", p, err)
		}
		q, err := Decode("a", "", again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		p.Occupancy, p.Pass = rounded(p.Occupancy), rounded(p.Pass)
		if p != q {
			t.Errorf("%+v came back as %+v", p, q)
		}
	})
}
