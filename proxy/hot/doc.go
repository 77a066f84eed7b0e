// Package hot finds the keys that are read most, in bounded memory and nearly
// without locks.
//
// [Keys] tells which keys are hot now: at least a hundredth of the reads that it
// is shown, and at least a hundred a second, within about the last two seconds. It
// takes 25 KiB, names keys by their hashes, and forgets what it is not shown. A
// read in eight is counted, by chance; asking whether a key is hot is one atomic
// load and a look. A key that is hot stays so until it has less than half of what
// made it so.
//
// [List] remembers which keys were read most over minutes, with their text, for
// whoever is to fill them elsewhere: 4,096 at most. A read in 64 is to be shown to
// it, which [List.Pick] chooses.
//
// Both count with Space-Saving (see counts.go): what they say of a key's reads is
// at most too high, and by how much is known.
//
// # Figures
//
// By keys_test.go, over twenty Zipf streams of 30,000 reads a second with exponents
// from 1.01 to 1.96: all of the 198 keys with a hundredth of the reads or more were
// hot, and of 220 hot keys 198 had a hundredth (the others less, but more than half
// of that). A key at the very edge changes at most three times in 100 s. One that
// takes nine of ten reads is hot after a second, and not any more some six seconds
// after it has cooled down.
//
// Read counts.go, then keys.go, table.go, list.go.
package hot
