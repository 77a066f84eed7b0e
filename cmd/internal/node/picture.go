package node

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"time"

	"github.com/freshet-cache/freshet/hashring"
)

//go:embed ring.html
var ringPage string

var page = template.Must(template.New("ring").Parse(ringPage))

// samples is how many places of the ring a picture shows: enough to see keys
// move, and that a node's lie all over it.
const samples = 512

// picture is a Ring as it is drawn.
type picture struct {
	*Ring
	Now   string
	Inner []arc // who has how much in the end
	Outer []arc // who has which place now
}

// arc is a part of a circle.
type arc struct {
	Path   template.HTMLAttr
	Colour template.CSS
	Title  string
	Faint  bool // its member does not serve
}

func (n *Node) picture(r *Ring) *picture {
	p := &picture{Ring: r, Now: time.Now().UTC().Format(time.TimeOnly)}
	colours, serves := map[string]template.CSS{}, map[string]bool{}
	from := 0.0
	for i, m := range r.Members {
		colours[m.Name] = colour(i)
		serves[m.Name] = m.State == hashring.Serving.String()
		if m.Share > 0 {
			p.Inner = append(p.Inner, arc{sector(from, from+m.Share, 90, 150), colour(i), fmt.Sprintf("%s: %.1f %%", m.Name, 100*m.Share), !serves[m.Name]})
		}
		from += m.Share
	}
	for i, owner := range n.tier.ownersNow() {
		at := float64(i) / samples
		p.Outer = append(p.Outer, arc{sector(at, at+1.0/samples, 158, 190), colours[owner], owner, !serves[owner]})
	}
	return p
}

// ownersNow is who owns places all around the ring.
func (t *tier) ownersNow() (owners []string) {
	rings, now := t.membership.View().Rings, time.Now()
	for i, key := range sampleKeys() {
		owner := rings.OwnerOfSlot(i*hashring.Slots/samples, now)
		if owner == "" { // keys have owners, and slots have not
			owner = rings.Owner(key, now)
		}
		owners = append(owners, owner)
	}
	return owners
}

// sampleKeys stand for all keys where slots have no owners.
func sampleKeys() (keys [][]byte) {
	for i := range samples {
		keys = append(keys, strconv.AppendInt([]byte("sample:"), int64(i), 10))
	}
	return keys
}

// colour is the i-th of colours that differ however many there are: steps of
// the golden angle.
func colour(i int) template.CSS {
	return template.CSS(fmt.Sprintf("hsl(%.0f 60%% 50%%)", math.Mod(float64(i)*137.508, 360)))
}

// sector is the path between two circles, from and to in turns.
func sector(from, to, inner, outer float64) template.HTMLAttr {
	to = min(to, from+0.9999) // a whole circle would begin where it ends, and be none
	large := 0
	if to-from > 0.5 {
		large = 1
	}
	at := func(turn, radius float64) (x, y float64) {
		sin, cos := math.Sincos(2 * math.Pi * turn)
		return radius * sin, -radius * cos
	}
	ax, ay := at(from, outer)
	bx, by := at(to, outer)
	cx, cy := at(to, inner)
	dx, dy := at(from, inner)
	return template.HTMLAttr(fmt.Sprintf(`d="M%.2f %.2f A%g %g 0 %d 1 %.2f %.2f L%.2f %.2f A%g %g 0 %d 0 %.2f %.2f Z"`,
		ax, ay, outer, outer, large, bx, by, cx, cy, inner, inner, large, dx, dy))
}

// sumText writes a checksum as logs and pages have it.
func sumText(sum uint64) string { return fmt.Sprintf("%016x", sum) }
