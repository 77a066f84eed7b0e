package acl

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// hash is the slow hash of a password.
type hash interface {
	matches(password []byte) bool
}

// The cost of the hashes that Hash makes: what OWASP's Password Storage Cheat
// Sheet gives for argon2id. One takes some 20 ms, and 19 MiB meanwhile.
const (
	memoryKiB = 19 << 10
	passes    = 2
	lanes     = 1
	saltBytes = 16
	sumBytes  = 32
)

// Hash returns the slow hash of a password, for a configuration.
func Hash(password []byte) (string, error) {
	if len(password) == 0 {
		return "", errors.New("the password is empty")
	}
	a := newArgon2()
	a.sum = a.of(password, sumBytes)
	return a.String(), nil
}

// isHash reports whether the text of a password is meant to be its hash.
func isHash(text string) bool {
	return strings.HasPrefix(text, "$argon2") || strings.HasPrefix(text, "$2")
}

func parseHash(text string) (hash, error) {
	if strings.HasPrefix(text, "$argon2") {
		return parseArgon2(text)
	}
	cost, err := bcrypt.Cost([]byte(text))
	switch {
	case err != nil:
		return nil, errors.New("is no bcrypt hash: $2b$COST$…, of 60 characters")
	case cost > mostCost:
		return nil, fmt.Errorf("bcrypt with a cost of %d takes too long; %d is the most", cost, mostCost)
	}
	return bcryptHash(text), nil
}

// mostCost of bcrypt takes some seconds.
const mostCost = 16

type bcryptHash string

// matches refuses what bcrypt would cut off: all that goes on like a password
// of 72 bytes would match.
func (b bcryptHash) matches(password []byte) bool {
	const most = 72
	return bcrypt.CompareHashAndPassword([]byte(b), password[:min(len(password), most)]) == nil && len(password) <= most
}

// argon2id is a hash in the PHC string format:
// $argon2id$v=19$m=19456,t=2,p=1$salt$sum, both in unpadded base64.
type argon2id struct {
	memory, time uint32
	threads      uint8
	salt, sum    []byte
}

// newArgon2 returns the hash of nothing: no password matches.
func newArgon2() *argon2id {
	a := &argon2id{memory: memoryKiB, time: passes, threads: lanes, salt: make([]byte, saltBytes), sum: make([]byte, sumBytes)}
	rand.Read(a.salt)
	rand.Read(a.sum)
	return a
}

func (a *argon2id) of(password []byte, bytes int) []byte {
	return argon2.IDKey(password, a.salt, a.time, a.memory, a.threads, uint32(bytes))
}

func (a *argon2id) matches(password []byte) bool {
	return subtle.ConstantTimeCompare(a.of(password, len(a.sum)), a.sum) == 1
}

func (a *argon2id) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, a.memory, a.time, a.threads,
		base64.RawStdEncoding.EncodeToString(a.salt), base64.RawStdEncoding.EncodeToString(a.sum))
}

var errPHC = errors.New("is no hash of this form: $argon2id$v=19$m=19456,t=2,p=1$SALT$HASH")

func parseArgon2(text string) (*argon2id, error) {
	a := &argon2id{}
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return nil, errPHC
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &a.memory, &a.time, &a.threads); err != nil {
		return nil, errPHC
	}
	var errSalt, errSum error
	a.salt, errSalt = base64.RawStdEncoding.DecodeString(parts[4])
	a.sum, errSum = base64.RawStdEncoding.DecodeString(parts[5])
	if errSalt != nil || errSum != nil || a.String() != text {
		return nil, errPHC
	}
	return a, a.check()
}

// check refuses what cannot be computed, protects nothing, or would take a
// node's memory or time.
func (a *argon2id) check() error {
	const leastSalt, leastSum, mostSum, mostMemory, mostTime = 8, 16, 128, 1 << 20, 64
	switch {
	case a.threads == 0 || a.time == 0 || a.memory < 8*uint32(a.threads):
		return errors.New("argon2id needs t and p of at least 1, and m of at least eight times p")
	case a.memory > mostMemory || a.time > mostTime:
		return fmt.Errorf("argon2id with m=%d,t=%d takes too much; m=%d and t=%d are the most", a.memory, a.time, mostMemory, mostTime)
	case len(a.salt) < leastSalt || len(a.sum) < leastSum || len(a.sum) > mostSum:
		return fmt.Errorf("argon2id needs a salt of at least %d bytes and a hash of %d to %d", leastSalt, leastSum, mostSum)
	}
	return nil
}
