// Package embedded is a deployment out of one binary: a SQLite file, and the
// parts of package part, with a broker among them.
package embedded
