// Package report shows a verdict: [Print] to somebody at a terminal, who gets
// the outcome and what it rests on in ten seconds, and [Write] to files:
// report.json for programs, and report.html, which needs nothing but itself.
//
// Read report.go and print.go, then page.html and pictures.go, which draws on
// svg.go.
package report
