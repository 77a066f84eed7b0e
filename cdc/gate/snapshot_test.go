package gate

import "testing"

func TestSnapshotShows(t *testing.T) {
	const epoch = 1 << 32
	for _, test := range []struct {
		snapshot string
		xid      uint32 // as the log has it
		want     bool
	}{
		{"10:10:", 9, true},
		{"5410:5410:", 5410, false}, // its commit is in the log, and it waits for a standby
		{"5411:5411:", 5410, true},
		{"10:20:12,15", 9, true},
		{"10:20:12,15", 10, true},
		{"10:20:12,15", 12, false},
		{"10:20:12,15", 13, true},
		{"10:20:12,15", 15, false},
		{"10:20:12,15", 20, false},
		// Behind the wrap-around.
		{"4294967290:4294967300:4294967298", 0xfffffffa - 1, true},
		{"4294967290:4294967300:4294967298", 0xffffffff, true},
		{"4294967290:4294967300:4294967298", 2, false},
		{"4294967290:4294967300:4294967298", 3, true},
		{"4294967290:4294967300:4294967298", 4, false},
		{"8589934592:8589934600:8589934595", 3, false},
		{"8589934592:8589934600:8589934595", 0xffffffff, true},
		{"8589934592:8589934600:", 0x80000009, true}, // just not too old
	} {
		s, err := ParseSnapshot(test.snapshot)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Shows(s.Widen(test.xid)); got != test.want {
			t.Errorf("%s shows %d (%d): %v", test.snapshot, test.xid, s.Widen(test.xid), got)
		}
	}
	if s := (Snapshot{Max: 3*epoch + 5}); s.Widen(0xffffffff) != 3*epoch-1 || s.Widen(6) != 3*epoch+6 {
		t.Error("numbers are not widened to the nearest")
	}
}

func TestParseSnapshotRefuses(t *testing.T) {
	for _, text := range []string{"", "1", "1:2", "1:2:3:4", ":2:", "1::", "1:2:x", "1:2:3,", "-1:2:", "1:18446744073709551616:"} {
		if s, err := ParseSnapshot(text); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
}
