package table

import "testing"

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text string
		id   int
		want uint64
		ok   bool
	}{
		{Text(17, 523), 17, 523, true}, {Text(17, 523), 7, 0, false}, {".9", 4, 9, true},
		{"17.5", 17, 5, true}, {"17.5.===", 17, 5, true}, {"17", 17, 0, false}, {"17.", 17, 0, false}, {"17.x", 17, 0, false}, {"17.0", 17, 0, false}, {"", 0, 0, false},
	} {
		if got, ok := Parse(test.text, test.id); ok != test.ok || ok && got != test.want {
			t.Errorf("%q of %d: %d, %v", test.text, test.id, got, ok)
		}
	}
}
