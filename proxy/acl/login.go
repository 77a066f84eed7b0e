package acl

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// patience is how long a login waits for its turn to compute a slow hash.
const patience = 5 * time.Second

// rest is how many times as long as a slow hash took its slot stays taken
// behind a wrong password.
const rest = 3

// mark is the keyed hash of a user's name and password.
type mark [sha256.Size]byte

func (u *Users) mark(name, password []byte) (m mark) {
	h := hmac.New(sha256.New, u.key[:])
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(name))) // so that "a", "bc" is not "ab", "c"
	h.Write(length[:])
	h.Write(name)
	h.Write(password)
	h.Sum(m[:0])
	return m
}

// bears reports whether m is the mark of what this user has been accepted by.
// Of a user there is not, or who has not been accepted yet, it looks at as
// many bytes.
func (w *user) bears(m *mark) bool {
	var have *mark
	if w != nil {
		have = w.accepted.Load()
	}
	known := have != nil
	if !known {
		have = &mark{}
	}
	return hmac.Equal(have[:], m[:]) && known
}

// Login returns the rights of a user. It returns proxy.ErrWrongPassword if
// there is no such user with that password, and proxy.ErrShed if too many wait
// to be told.
func (u *Users) Login(name, password []byte) (*proxy.Rights, error) {
	who := u.byName[string(name)]
	m := u.mark(name, password)
	if who.bears(&m) {
		u.count.accepted.Inc()
		return who.rights, nil
	}
	if !u.enter() {
		u.count.shed.Inc()
		return nil, proxy.ErrShed
	}
	defer u.leave()
	if who.bears(&m) || u.verify(who, name, password, m) {
		u.count.accepted.Inc()
		return who.rights, nil
	}
	u.count.refused.Inc()
	return nil, proxy.ErrWrongPassword
}

// enter waits for a slot.
func (u *Users) enter() bool {
	select {
	case u.slots <- struct{}{}:
		return true
	default:
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case u.slots <- struct{}{}:
		return true
	case <-t.C:
		return false
	}
}

func (u *Users) leave() { <-u.slots }

// verify holds a password against the user's slow hash. Where there can be no
// match (there is no such user, or what they are accepted by is known, and is
// another password) it does so all the same, for the time that takes; one
// without a hash is held against another's, always the same.
func (u *Users) verify(who *user, name, password []byte, m mark) bool {
	began := time.Now()
	possible := who != nil && who.accepted.Load() == nil
	h := u.hashes[int(u.mark(name, nil)[0])%len(u.hashes)]
	if who != nil && who.hash != nil {
		h = who.hash
	}
	if h.matches(password) && possible {
		who.accepted.Store(&m)
		return true
	}
	time.Sleep(rest * time.Since(began))
	return false
}
