// Package cdc applies a source's change stream to the cache and says how far
// it has come.
package cdc
