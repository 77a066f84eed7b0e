// Package kubernetes is a directory of the pods behind a Service, from its
// EndpointSlices.
//
// They are listed once and watched from then on (client-go's informer), so a
// change is known in a moment, and the API server hears of a node when it
// starts. A pod that is ready serves, one that is not yet starts, one that
// terminates is leaving. Members are named by their pods, or by HOST:PORT
// where an endpoint is of none.
//
// When the API server is away, refuses or is silent, what was known stands and
// the problem is told; client-go calls again, at longer and longer intervals
// up to half a minute. A server that says nothing at all for [Options].Silence
// is taken for dead (it sends bookmarks every minute or so). What is half (a
// slice without the port, an endpoint without an address) is left out and
// told.
//
// The node's service account needs the verbs list and watch on endpointslices
// of discovery.k8s.io in its namespace.
//
// Read kubernetes.go first, then slices.go (from slices to members) and hear.go
// (what the server answers).
package kubernetes
