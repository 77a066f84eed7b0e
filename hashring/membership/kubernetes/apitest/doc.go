// Package apitest is an API server of one Service's EndpointSlices, for tests:
// what a fake client set would skip is what it does wrong.
//
// A [Server] lists slices and has them watched, with bookmarks and initial lists
// by watch; by its [Faults] it refuses, or says nothing, and a test says to its
// watches what it likes.
package apitest
