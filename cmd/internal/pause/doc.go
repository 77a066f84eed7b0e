// Package pause waits between two doings of a run: writers, readers, faults and
// whoever looks for something again and again. [For] may be called by all at
// once.
package pause
