// Package archtest holds the shape of the tree: tests that read the source and
// fail when something is imported sideways, a library is used outside its
// home, or a package or an exported name has no documentation.
//
// A table with a reason beside each row says what may be. Who needs a new row
// writes the reason first.
//
// tree.go reads the tree; the tests beside it are the rules: imports_test.go,
// docs_test.go, words_test.go.
package archtest
