// Package pipeline says which bounds a stream of changes can carry, from how
// its checkpoints arrive.
//
// A read hits while src_hi − A(e) is within its bound, and A(e) rises with the
// watermark. Just before the watermark rises, its age by the upper end of the
// clock is what passes between two checkpoints, and how late the newer one is
// by the lower end, and the width of the clock: the smallest bound at which
// reads still hit. A smaller one is kept as well, by reads of the source.
//
// A [Meter] takes checkpoints and makes a [Pipeline] of them. It serves one
// goroutine. Read pipeline.go, then meter.go.
package pipeline
