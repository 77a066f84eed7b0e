// Package row is the one codec between a source's rows and what the cache
// holds: row → key and row → value. Fills and refills use the same functions,
// so a value that arrives with a change is byte for byte what a read of the
// source would have given.
//
// A value is a list of columns, each a [Kind] and the column's text; NULL has
// no text. A key is "usecase:part[:part…]", one part per key column, with ':'
// and '%' inside a part written %3A and %25 and nothing else encoded: a row
// has exactly one key, and every other spelling is refused.
//
// A [Mapping] may be used concurrently; its schema is replaced as a whole.
// Read row.go first, then key.go, mapping.go and json.go.
package row
