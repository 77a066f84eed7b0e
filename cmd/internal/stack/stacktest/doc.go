// Package stacktest starts the parts of package stack for tests. A test that
// calls one of its functions is skipped unless FRESHET_REAL=1, and its parts
// end with it. What a part has said is shown when the test fails.
package stacktest
