package kafka

import "errors"

// errAlien is returned for answers that are no broker's.
var errAlien = errors.New("what answers is no broker of Kafka")

// maxAnswerBytes is above what any broker sends at once, and below what the
// first four bytes of other protocols say if they are taken for a length: text
// (HTTP, Redis, SSH), the errors of PostgreSQL, the alerts of TLS.
const maxAnswerBytes = 256 << 20

// answers follows the lengths of a connection's answers. The library believes
// each, and each count in an answer: at the port of another service it would
// allocate gigabytes, and go on for minutes after its caller had left.
type answers struct {
	length uint32 // of the answer, as far as it has come
	have   int    // how many bytes of the length have
	rest   int    // bytes until the next answer
}

// pass takes in what was read.
func (a *answers) pass(b []byte) error {
	for len(b) > 0 {
		if a.rest > 0 {
			n := min(a.rest, len(b))
			a.rest, b = a.rest-n, b[n:]
			continue
		}
		a.length, b = a.length<<8|uint32(b[0]), b[1:]
		if a.have++; a.have < 4 {
			continue
		}
		if a.length > maxAnswerBytes {
			return errAlien
		}
		a.rest, a.length, a.have = int(a.length), 0, 0
	}
	return nil
}
