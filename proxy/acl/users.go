package acl

import (
	"crypto/rand"
	"fmt"
	"path"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/freshet-cache/freshet/proxy"
)

// User is one user as configured.
type User struct {
	Name     string
	Password string // itself, or its hash
	Low      bool   // of low priority

	// The use cases they have each right to: names, or patterns with '*'.
	Read, Write, Admin []string
}

// Users are who may say who they are.
type Users struct {
	byName map[string]*user
	hashes []hash // one per user who has one; at least one: what a wrong password is held against
	key    [32]byte
	slots  chan struct{} // one for each slow hash that may be computed at a time
	count  *metrics
}

// user is one of them.
type user struct {
	rights   *proxy.Rights
	hash     hash                 // nil: the password itself was given
	accepted atomic.Pointer[mark] // of the password, once it is known
}

// New returns the users of a catalog's use cases, and registers its metrics.
// It refuses hashes that are none and patterns that match nothing.
func New(catalog *proxy.Catalog, users []User, reg Registerer) (*Users, error) {
	u := &Users{
		byName: map[string]*user{},
		slots:  make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/4)),
		count:  newMetrics(reg),
	}
	rand.Read(u.key[:])
	for _, given := range users {
		if err := u.add(catalog, given); err != nil {
			return nil, fmt.Errorf("user %q: %w", given.Name, err)
		}
	}
	if len(u.hashes) == 0 {
		u.hashes = append(u.hashes, newArgon2())
	}
	return u, nil
}

// Of returns the rights of a user of that name, as another node has let them in;
// nil: there is none.
func (u *Users) Of(name string) *proxy.Rights {
	if who := u.byName[name]; who != nil {
		return who.rights
	}
	return nil
}

func (u *Users) add(catalog *proxy.Catalog, given User) (err error) {
	if given.Password == "" {
		return fmt.Errorf("there is no password; give one, or its hash")
	}
	if u.byName[given.Name] != nil {
		return fmt.Errorf("is there twice; rename one")
	}
	who := &user{}
	if who.rights, err = rights(catalog, given); err != nil {
		return err
	}
	who.rights.Caller = &proxy.Caller{Name: given.Name, Low: given.Low}
	if isHash(given.Password) {
		if who.hash, err = parseHash(given.Password); err != nil {
			return fmt.Errorf("password: %w", err)
		}
		u.hashes = append(u.hashes, who.hash)
	} else {
		m := u.mark([]byte(given.Name), []byte(given.Password))
		who.accepted.Store(&m)
	}
	u.byName[given.Name] = who
	return nil
}

// rights resolves patterns: once, so that a command only looks into a slice.
func rights(catalog *proxy.Catalog, given User) (*proxy.Rights, error) {
	r := &proxy.Rights{ByUseCase: make([]proxy.Right, len(catalog.All()))}
	for _, list := range []struct {
		right    proxy.Right
		patterns []string
	}{{proxy.MayRead, given.Read}, {proxy.MayWrite, given.Write}, {proxy.MayAdmin, given.Admin}} {
		for _, pattern := range list.patterns {
			if err := grant(r, catalog, pattern, list.right); err != nil {
				return nil, err
			}
		}
		if slices.Contains(list.patterns, "*") {
			r.Rest = list.right
		}
	}
	return r, nil
}

func grant(r *proxy.Rights, catalog *proxy.Catalog, pattern string, right proxy.Right) error {
	found := pattern == "*"
	for _, u := range catalog.All() {
		matches, err := path.Match(pattern, u.Name)
		if err != nil {
			return fmt.Errorf("%q is no pattern: %w", pattern, err)
		}
		if matches {
			found = true
			r.ByUseCase[u.ID] = max(r.ByUseCase[u.ID], right)
		}
	}
	if !found {
		return fmt.Errorf("no use case is named %q; name one, or a pattern that matches some", pattern)
	}
	return nil
}
