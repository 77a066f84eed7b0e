package hashring

import "testing"

// The slots were computed by CLUSTER KEYSLOT of Redis 7.0.15, and the CRC by
// the specification of Redis Cluster ("123456789" gives 31C3).
func TestSlotOfIsRedisClusters(t *testing.T) {
	if got := crc16([]byte("123456789")); got != 0x31C3 {
		t.Errorf("crc16 = %#x, want 0x31c3", got)
	}
	for _, c := range []struct {
		key  string
		slot int
	}{
		{"", 0},
		{"foo", 12182},
		{"users:42", 9664},
		{"orders:1:2", 3938},
		{"foo{hash_tag}", 2515},
		{"bar{hash_tag}", 2515},
		{"{}", 15257},
		{"foo{}{bar}", 8363},
		{"foo{{bar}}zap", 4015},
		{"foo{bar}{zap}", 5061},
		{"{user1000}.following", 3443},
		{"foo{bar", 15278},
		{"foo}bar{", 11073},
		{"}{a}", 15495},
		{"{a}{", 15495},
		{"key:__rand_int__", 13782},
		{"été:1", 5252},
		{"\x00\r\n\xff", 13162},
		{"key:\x00\r\n\xff", 9726},
		{"{\x00\xff}\r\n", 7920},
		{"\xff{\r\n}\x00", 5910},
		{"{a}{b}", 15495},
		{"{}x", 10595},
		{"{}{a}", 13650},
		{"a{}b{c}", 7353},
		{"x{", 3596},
		{everyByteTwice(), 16155},
	} {
		if got := SlotOf([]byte(c.key)); got != c.slot {
			t.Errorf("SlotOf(%q) = %d, want %d", c.key, got, c.slot)
		}
	}
}

// everyByteTwice has 512 bytes, the most a key may have.
func everyByteTwice() string {
	b := make([]byte, 512)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}

func TestSlotOfAllocatesNothing(t *testing.T) {
	key := []byte("orders:{42}:7")
	if n := testing.AllocsPerRun(100, func() { SlotOf(key) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
