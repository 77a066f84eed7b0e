package debezium

import (
	"bytes"
	"encoding/json"
	"testing"
)

// The same record by the decoder, and by encoding/json into a map, which is
// what decoding it would begin with.
func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"plain", "schemas", "flat"} {
		var update fixture
		for _, f := range fixturesOf(b, "testdata/"+name+".jsonl") {
			if f.Topic == name+".public.users" && bytes.Contains(f.Value, []byte("ann2@")) {
				update = f
			}
		}
		key, value := update.key(), update.value()
		b.Run(name, func(b *testing.B) {
			d := newDecoder(b, "__debezium_unavailable_value")
			b.SetBytes(int64(len(value)))
			b.ReportAllocs()
			for b.Loop() {
				if m, err := d.Decode(update.Topic, key, value); err != nil || m.Change == nil {
					b.Fatal(m, err)
				}
			}
		})
		b.Run(name+"/json", func(b *testing.B) {
			b.SetBytes(int64(len(value)))
			b.ReportAllocs()
			for b.Loop() {
				var v, k map[string]any
				if json.Unmarshal(value, &v) != nil || json.Unmarshal(key, &k) != nil {
					b.Fatal("no JSON")
				}
			}
		})
	}
}
