// Package store is bounded memory for cache entries: ristretto behind Get,
// Put and Drop.
//
// It is never trusted for correctness. A Put may be lost, may become visible
// late, and a value may come back after a Drop; with two Puts of one new key
// in a row the first may win. So every entry carries what makes it valid, and
// the reader checks that, the full key included, on each Get. What the store
// does promise is the bound: the heap that its entries hold, its own tables
// included, stays within the bytes it was given.
//
// Keys are 64-bit hashes. All methods may be called concurrently, but not
// after Close.
package store
