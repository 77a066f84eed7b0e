// Package ramp keeps a cold tier from pushing over a cold database: the loads
// that run at once begin few and grow while the source keeps up, to no limit of
// its own.
//
// A [Ramp] is a Source between the cache and the source. A warm node does not
// notice it: its fills are fewer than may run. When everything has started anew,
// or has been made void, every read is a fill at once; many databases then do
// less the more they are asked, and stay so, since whoever waits asks again. The
// limit begins low after a start and after a time in which few fills ran, doubles
// with each round of answers, and is halved when answers take more than twice what
// they took at best, or fail (limit.go says whose idea that is).
//
// A load that may not run yet waits for its turn, until its context ends or for
// [Options].Wait, and then has proxy.ErrUnavailable; when too many wait, it has
// proxy.ErrShed at once. Writes never wait.
//
// There is nothing to set. A node has one, unless its configuration switches it
// off; Options.Wait is best the longest timeout of its use cases. A Ramp is a
// collector of metrics that its node registers.
//
// # Figures
//
// By TestColdDatabase, in virtual time: a database that answers 16 loads at once in
// 10 ms each, and n of them in (n/16)² times that, asked by 256 callers who ask
// again as soon as they have an answer, for 20 s:
//
//	loads done                  of the best
//	best, 16 callers    31,990        100 %
//	without the ramp     2,040          6 %
//	with it             25,300         79 %, from the first second on
//
// What is missing to the best is the tooth of the saw: half of too much is too
// little.
//
// Read ramp.go, then limit.go, metrics.go.
package ramp
