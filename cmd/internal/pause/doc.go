// Package pause waits between two doings, for whoever looks for something again
// and again. [For] may be called by all at once.
package pause
