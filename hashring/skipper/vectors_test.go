package skipper

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// vectors are results of Skipper's own code; meta in the file says how they
// came about.
type vectors struct {
	Hashes []struct {
		Key  hexKey `json:"key_hex"`
		Hash string
	} `json:"xxhash64"`
	Rings []struct {
		Name      string
		Endpoints []string
		Len       int    `json:"ring_len"`
		SHA256    string `json:"ring_sha256"`
		Choices   []choice
		Sample    []struct {
			Hash       string
			Index, Pos int
		} `json:"ring_sample"`
		Owned []float64 `json:"owned_fraction"`
	}
	Bounded []struct {
		Set      string
		Factor   float64 `json:"balance_factor"`
		Average  float64 `json:"avg_incl_arrival"`
		Moved    int     `json:"moved_of_200"`
		Inflight []int
		Target   float64
		Choices  []choice
	}
	Sequences []struct {
		Set     string
		Factor  float64  `json:"balance_factor"`
		Keys    []hexKey `json:"keys_hex"`
		Indexes []int
		Final   []int `json:"final_inflight"`
	} `json:"bounded_sequence"`
	Scores []struct {
		Duration int64 `json:"duration_ns"`
		Lifetime int64 `json:"lifetime_ns"`
		Exponent float64
		Score    float64
	} `json:"fadein_score"`
	Faded []struct {
		Set              string
		Exponent, Random float64
		Progress, Scores []float64
		Kept             []int `json:"kept_idx"`
		Choices          []choice
	} `json:"fadein_filter"`
	Filtered []struct {
		Set     string
		Kept    []int `json:"filtered_idx"`
		Choices []choice
	}
	Statistics []struct {
		Endpoints, Keys int
		Max             float64 `json:"max_over_mean"`
		Min             float64 `json:"min_over_mean"`
		Spread          float64 `json:"cv"`
		Moved           float64 `json:"moved_on_add_one"`
		Needless        float64 `json:"moved_between_old"`
	} `json:"ring_statistics"`
}

type choice struct {
	Key       hexKey `json:"key_hex"`
	Index     int
	Endpoint  string
	Unbounded int `json:"unbounded_index"`
}

type hexKey []byte

func (k *hexKey) UnmarshalText(text []byte) (err error) {
	*k, err = hex.DecodeString(string(text))
	return err
}

func load(t *testing.T) *vectors {
	t.Helper()
	data, err := os.ReadFile("testdata/skipper.json")
	if err != nil {
		t.Fatal(err)
	}
	v := new(vectors)
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
	return v
}

func ringOf(t *testing.T, addresses ...string) *Ring {
	t.Helper()
	endpoints := make([]Endpoint, len(addresses))
	for i, a := range addresses {
		endpoints[i] = Endpoint{a, 1}
	}
	r, err := New(endpoints)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// set returns the ring that a vector names. The endpoints of "ten" are not in
// the file; they were found by trying addresses until all choices matched.
func (v *vectors) set(t *testing.T, name string) *Ring {
	t.Helper()
	for _, r := range v.Rings {
		if r.Name == name {
			return ringOf(t, r.Endpoints...)
		}
	}
	if name != "ten" {
		t.Fatalf("no set of endpoints is named %q", name)
	}
	return ringOf(t, addresses("http://10.2.0.%d:8080", 10)...)
}

func addresses(format string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i+1)
	}
	return list
}

func among(kept []int) func(int) bool {
	return func(endpoint int) bool { return slices.Contains(kept, endpoint) }
}

func everyone(int) bool { return true }

func TestHashesAreSkippers(t *testing.T) {
	for _, h := range load(t).Hashes {
		if got := fmt.Sprintf("%016x", Hash(h.Key)); got != h.Hash {
			t.Errorf("Hash(%q) = %s, want %s", h.Key, got, h.Hash)
		}
	}
}

func TestRingsAreSkippers(t *testing.T) {
	for _, want := range load(t).Rings {
		t.Run(want.Name, func(t *testing.T) {
			r := ringOf(t, want.Endpoints...)
			if len(r.points) != want.Len {
				t.Errorf("%d points, want %d", len(r.points), want.Len)
			}
			for _, s := range want.Sample {
				hash, _ := strconv.ParseUint(s.Hash, 16, 64)
				if got, owner := r.point(s.Pos); got != hash || want.Endpoints[owner] != want.Endpoints[s.Index] {
					t.Errorf("point %d is %016x of %d, want %s of %d", s.Pos, got, owner, s.Hash, s.Index)
				}
			}
			// Where an endpoint is listed twice, the order of its equal points is
			// open in Skipper, and no sum was taken.
			if got := sum(r); want.SHA256 != "" && got != want.SHA256 {
				t.Errorf("sum of all points %s, want %s", got, want.SHA256)
			}
			for _, c := range want.Choices {
				if got := r.Owner(Hash(c.Key)); want.Endpoints[got] != c.Endpoint {
					t.Errorf("%q is at %s, want %s", c.Key, want.Endpoints[got], c.Endpoint)
				}
			}
			left := map[string]float64{} // by address: an endpoint may be listed twice
			for i, share := range owned(r) {
				left[want.Endpoints[i]] += share - want.Owned[i]
			}
			for address, rest := range left {
				if math.Abs(rest) > 1e-9 {
					t.Errorf("the share of %s is off by %v", address, rest)
				}
			}
		})
	}
}

// point returns a point as it was before it was packed.
func (r *Ring) point(i int) (hash uint64, owner int) {
	bucket := 0
	for int(r.starts[bucket+1]) <= i {
		bucket++
	}
	return uint64(bucket)<<(64-r.width) | r.points[i]>>r.width, r.owner(i)
}

// owned returns which part of all hashes each endpoint has.
func owned(r *Ring) []float64 {
	shares := make([]float64, len(r.points))
	last, _ := r.point(len(r.points) - 1)
	for i := range r.points {
		hash, owner := r.point(i)
		shares[owner] += math.Ldexp(float64(hash-last), -64)
		last = hash
	}
	return shares[:r.endpoints()]
}

func (r *Ring) endpoints() (n int) {
	for i := range r.points {
		n = max(n, r.owner(i)+1)
	}
	return n
}

func sum(r *Ring) string {
	d := sha256.New()
	for i := range r.points {
		hash, owner := r.point(i)
		binary.Write(d, binary.BigEndian, hash)
		binary.Write(d, binary.BigEndian, uint32(owner))
	}
	return hex.EncodeToString(d.Sum(nil))
}

// The statistics count 200,000 keys over endpoints that the file does not
// name; they were found like those of "ten".
func TestStatisticsAreSkippers(t *testing.T) {
	for _, want := range load(t).Statistics {
		n := want.Endpoints
		before, after := ringOf(t, addresses("http://10.20.0.%d:8080", n)...), ringOf(t, addresses("http://10.20.0.%d:8080", n+1)...)
		counts, moved, needless := make([]int, n), 0, 0
		var key []byte
		for i := range want.Keys {
			key = strconv.AppendInt(append(key[:0], "sku-"...), int64(i), 10)
			hash := Hash(key)
			old, now := before.Owner(hash), after.Owner(hash)
			counts[old]++
			if old != now {
				moved++
				if now != n {
					needless++
				}
			}
		}
		mean, squares := float64(want.Keys)/float64(n), 0.0
		for _, count := range counts {
			squares += (float64(count) - mean) * (float64(count) - mean)
		}
		for what, pair := range map[string][2]float64{
			"max over mean": {float64(slices.Max(counts)) / mean, want.Max},
			"min over mean": {float64(slices.Min(counts)) / mean, want.Min},
			"spread":        {math.Sqrt(squares/float64(n)) / mean, want.Spread},
			"moved":         {float64(moved) / float64(want.Keys), want.Moved},
			"needless":      {float64(needless) / float64(want.Keys), want.Needless},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Errorf("%d endpoints: %s %v, want %v", n, what, pair[0], pair[1])
			}
		}
	}
}

func TestBoundedLoadIsSkippers(t *testing.T) {
	v := load(t)
	for i, b := range v.Bounded {
		r := v.set(t, b.Set)
		limit := Limit(b.Inflight, everyone, b.Factor)
		if limit != b.Target || limit != b.Average*b.Factor {
			t.Errorf("%d: limit %v, want %v", i, limit, b.Target)
		}
		admitted := func(e int) bool { return float64(b.Inflight[e]) <= limit }
		moved := 0
		for _, key := range v.Sequences[0].Keys { // 200
			if hash := Hash(key); r.First(hash, admitted) != r.Owner(hash) {
				moved++
			}
		}
		if moved != b.Moved {
			t.Errorf("%d: %d of 200 keys are elsewhere than without a bound, want %d", i, moved, b.Moved)
		}
		for _, c := range b.Choices {
			got := r.First(Hash(c.Key), admitted)
			if got != c.Index {
				t.Errorf("%d: %q is at %d, want %d", i, c.Key, got, c.Index)
			}
			if got := r.Owner(Hash(c.Key)); got != c.Unbounded {
				t.Errorf("%d: %q without a bound is at %d, want %d", i, c.Key, got, c.Unbounded)
			}
		}
	}
}

func TestBoundedSequencesAreSkippers(t *testing.T) {
	v := load(t)
	for _, s := range v.Sequences {
		r, inflight := v.set(t, s.Set), make([]int, len(s.Final))
		for i, key := range s.Keys {
			limit := Limit(inflight, everyone, s.Factor)
			got := r.First(Hash(key), func(e int) bool { return float64(inflight[e]) <= limit })
			if got != s.Indexes[i] {
				t.Fatalf("%s: request %d goes to %d, want %d", s.Set, i, got, s.Indexes[i])
			}
			inflight[got]++
		}
		if !slices.Equal(inflight, s.Final) {
			t.Errorf("%s: loads %v, want %v", s.Set, inflight, s.Final)
		}
	}
}

func TestFilteredCandidatesAreSkippers(t *testing.T) {
	v := load(t)
	for i, f := range v.Filtered {
		r := v.set(t, f.Set)
		for _, c := range f.Choices {
			if got := r.First(Hash(c.Key), among(f.Kept)); got != c.Index {
				t.Errorf("%d: %q is at %d, want %d", i, c.Key, got, c.Index)
			}
		}
	}
}

func TestFadeInIsSkippers(t *testing.T) {
	v := load(t)
	for _, s := range v.Scores {
		if got := Score(time.Duration(s.Lifetime), time.Duration(s.Duration), s.Exponent); got != s.Score {
			t.Errorf("Score(%d, %d, %v) = %v, want %v", s.Lifetime, s.Duration, s.Exponent, got, s.Score)
		}
	}
	const window = 30 * time.Second
	for i, f := range v.Faded {
		r := v.set(t, f.Set)
		var kept []int
		for e, p := range f.Progress {
			score := Score(time.Duration(p*float64(window)), window, f.Exponent)
			if score != f.Scores[e] {
				t.Errorf("%d: endpoint %d has the score %v, want %v", i, e, score, f.Scores[e])
			}
			if f.Random < score {
				kept = append(kept, e)
			}
		}
		if len(kept) == 0 {
			for e := range f.Progress {
				kept = append(kept, e)
			}
		}
		if !slices.Equal(kept, f.Kept) {
			t.Errorf("%d: kept %v, want %v", i, kept, f.Kept)
		}
		for _, c := range f.Choices {
			if got := r.First(Hash(c.Key), among(kept)); got != c.Index {
				t.Errorf("%d: %q is at %d, want %d", i, c.Key, got, c.Index)
			}
		}
	}
}
