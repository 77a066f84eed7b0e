package debezium

import (
	"testing"

	"github.com/freshet-cache/freshet/proxy"
)

// What is newer is what was counted later, whatever the source's clock says.
func TestSchemaChanged(t *testing.T) {
	var s schema
	old, promoted := proxy.Identity{System: 1, Timeline: 1}, proxy.Identity{System: 1, Timeline: 2}
	for _, step := range []struct {
		name string
		mark Mark
		want bool
	}{
		{"the first", Mark{Seq: 8, T: 100, Source: old, Fingerprint: "a"}, true},
		{"in another partition", Mark{Seq: 8, T: 100, Source: old, Fingerprint: "a"}, false},
		{"the clock has stepped back", Mark{Seq: 9, T: 50, Source: old, Fingerprint: "a"}, false},
		{"and then the catalog changes", Mark{Seq: 10, T: 60, Source: old, Fingerprint: "b"}, true},
		{"one comes again", Mark{Seq: 8, T: 100, Source: old, Fingerprint: "a"}, false},
		{"as it was", Mark{Seq: 11, T: 70, Source: old, Fingerprint: "a"}, true},
		{"of another server", Mark{Seq: 11, T: 80, Source: promoted, Fingerprint: "b"}, true},
	} {
		if got := s.changed(&step.mark, false); got != step.want {
			t.Errorf("%s: changed %t", step.name, got)
		}
	}
	s.forget()
	if !s.changed(&Mark{Seq: 1, Source: promoted, Fingerprint: "b"}, false) || !s.changed(&Mark{Seq: 2, Source: promoted, Fingerprint: "c"}, false) {
		t.Error("a table that was made anew counts from the beginning, and is not listened to")
	}
}
