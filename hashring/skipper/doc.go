// Package skipper is the ring of Skipper's consistentHash load balancing, so
// that a Skipper in front of a tier and the tier itself send a key to the same
// endpoint.
//
// What is matched is github.com/zalando/skipper at commit 527238d12b3d, of
// 2026 and after v0.27.34: other versions place keys elsewhere (before July
// 2021 one point per endpoint by another hash; for a week of March 2026
// another number of points; until v0.27.34 a bounded search could choose an
// endpoint that was filtered out). testdata/skipper.json holds results of that
// commit's own code, and the tests compare all of them but one kind: by which
// host Skipper tells candidates apart (scheme_host), where here they are told
// apart by their places.
//
// The ring, in words: an endpoint's points are the XXH64 (seed 0) of its
// address exactly as it is configured, "-" and 0, 1 … 99. A key belongs to the
// first point that is not below the key's XXH64, after the last to the first,
// stepping over endpoints that are not candidates ([Ring.First]). A bounded
// load steps over those above [Limit] as well. An endpoint that fades in is a
// candidate while the request's draw is below its [Score].
//
// An endpoint of weight w has 100·w points of that sequence: with all weights
// 1 the ring is Skipper's, and another weight adds or takes the endpoint's
// last points only.
//
// A [Ring] is immutable, and a look-up allocates nothing. Skipper looks at its
// endpoints' hosts one by one; here the first bits of a hash say where to
// begin, so that 1,000 endpoints cost what ten do.
package skipper
