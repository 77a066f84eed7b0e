package acl

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func catalog(t testing.TB, names ...string) *proxy.Catalog {
	t.Helper()
	var mappings []*row.Mapping
	for _, name := range names {
		mappings = append(mappings, &row.Mapping{Spec: row.Spec{Name: name, Table: name}})
	}
	c, err := proxy.NewCatalog(mappings...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func made(t testing.TB, list ...User) *Users {
	t.Helper()
	u, err := New(catalog(t, "users", "orders", "order-items"), list, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Hashes by others: the first of "password" from the tests of the reference
// implementation of Argon2, those of bcrypt from libxcrypt.
const (
	argon2OfPassword = "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc"
	bcryptOfPassword = "$2b$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm"
	bcryptOf72       = "$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i" // 72 times x
)

func TestRights(t *testing.T) {
	u := made(t, User{Name: "a", Password: "pw", Read: []string{"*"}, Write: []string{"order*"}, Admin: []string{"orders"}},
		User{Name: "b", Password: "pw", Read: []string{"users"}}, User{Name: "c", Password: "pw"}, User{Name: "root", Password: "pw", Low: true, Admin: []string{"*"}})
	for name, want := range map[string]proxy.Rights{
		"a":    {ByUseCase: []proxy.Right{proxy.MayRead, proxy.MayAdmin, proxy.MayWrite}, Rest: proxy.MayRead},
		"b":    {ByUseCase: []proxy.Right{proxy.MayRead, proxy.MayNothing, proxy.MayNothing}},
		"c":    {ByUseCase: make([]proxy.Right, 3)},
		"root": {ByUseCase: []proxy.Right{proxy.MayAdmin, proxy.MayAdmin, proxy.MayAdmin}, Rest: proxy.MayAdmin},
	} {
		got, err := u.Login([]byte(name), []byte("pw"))
		if err != nil || fmt.Sprint(got.ByUseCase, got.Rest) != fmt.Sprint(want.ByUseCase, want.Rest) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
		if caller := (proxy.Caller{Name: name, Low: name == "root"}); *got.Caller != caller {
			t.Errorf("%s calls as %v", name, *got.Caller)
		}
	}
}

func TestRefusedUsers(t *testing.T) {
	for want, list := range map[string][]User{
		"no use case is named":  {{Name: "a", Password: "pw", Write: []string{"user"}}},
		"is no pattern":         {{Name: "a", Password: "pw", Write: []string{"[a"}}},
		"there is no password":  {{Name: "a", Read: []string{"*"}}},
		"is there twice":        {{Name: "a", Password: "x"}, {Name: "a", Password: "y"}},
		"is no hash":            {{Name: "a", Password: "$argon2i$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA"}},
		"is no bcrypt hash":     {{Name: "a", Password: "$2b$04$short"}},
		"takes too long; 16 is": {{Name: "a", Password: "$2b$31$" + strings.Repeat("a", 53)}},
	} {
		_, err := New(catalog(t, "users"), list, prometheus.NewRegistry())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "c2FsdHNhbHQ") {
			t.Errorf("%+v: %v, want %q", list, err, want)
		}
	}
}

// A right password is accepted, however it is given, and every other refused,
// before and after.
func TestPasswords(t *testing.T) {
	own, err := Hash([]byte("password"))
	if err != nil {
		t.Fatal(err)
	}
	for what, password := range map[string]string{"itself": "password", "our hash": own, "argon2": argon2OfPassword, "bcrypt": bcryptOfPassword} {
		// With a cheap hash for what is held against anybody's.
		u := made(t, User{Name: "cheap", Password: argon2OfPassword}, User{Name: "ann", Password: password}, User{Name: "bob", Password: "password2"})
		u.hashes = u.hashes[:1]
		wrongs := [][2]string{{"ann", "Password"}, {"ann", ""}, {"ann", "password\x00"}, {"an", "npassword"}, {"", "password"}, {"bob", "password"}, {"ann", password + "x"}}
		if password == own {
			wrongs = wrongs[2:5] // each costs what it costs in a node
		}
		for range 2 {
			for _, wrong := range wrongs {
				if r, err := u.Login([]byte(wrong[0]), []byte(wrong[1])); !errors.Is(err, proxy.ErrWrongPassword) || r != nil {
					t.Errorf("%s: %q is accepted: %v, %v", what, wrong, r, err)
				}
			}
			if r, err := u.Login([]byte("ann"), []byte("password")); err != nil || r == nil {
				t.Errorf("%s: refused: %v", what, err)
			}
		}
		if password != "password" {
			if _, err := u.Login([]byte("ann"), []byte(password)); err == nil {
				t.Errorf("%s: the hash is a password", what)
			}
		}
	}
	if _, err := Hash(nil); err == nil {
		t.Error("an empty password has a hash")
	}
}

func TestBcryptCutsNothingOff(t *testing.T) {
	u := made(t, User{Name: "ann", Password: bcryptOf72})
	long := strings.Repeat("x", 72)
	if _, err := u.Login([]byte("ann"), []byte(long+"y")); !errors.Is(err, proxy.ErrWrongPassword) {
		t.Errorf("a longer password: %v", err)
	}
	if _, err := u.Login([]byte("ann"), []byte(long)); err != nil {
		t.Error(err)
	}
}

// slow is a hash that counts, and can be held up.
type slow struct {
	right string
	calls atomic.Int32
	gate  chan struct{}
}

func (s *slow) matches(password []byte) bool {
	s.calls.Add(1)
	if s.gate != nil {
		<-s.gate
	}
	return string(password) == s.right
}

// counted are users with such hashes: ann and eve have one each, bob's
// password itself was given.
func counted(t *testing.T) (u *Users, ann, eve *slow) {
	u = made(t, User{Name: "ann", Password: argon2OfPassword}, User{Name: "eve", Password: argon2OfPassword}, User{Name: "bob", Password: "pw"})
	ann, eve = &slow{right: "pw"}, &slow{right: "pw"}
	u.byName["ann"].hash, u.byName["eve"].hash = ann, eve
	u.hashes = []hash{ann, eve}
	return u, ann, eve
}

// Every wrong password costs one slow hash, and a right one the first time.
func TestWhatASlowHashIsComputedFor(t *testing.T) {
	u, ann, eve := counted(t)
	for _, c := range []struct {
		name, password string
		hashes         int32
		of             *slow // nil: of either
	}{
		{"ann", "wrong", 1, ann}, {"nobody", "pw", 1, nil}, {"bob", "wrong", 1, nil}, {"bob", "pw", 0, nil},
		{"ann", "pw", 1, ann}, {"ann", "pw", 0, nil}, {"ann", "wrong", 1, ann}, {"ann", "pw", 0, nil},
		{"eve", "wrong", 1, eve}, {"", "", 1, nil},
	} {
		ann.calls.Store(0)
		eve.calls.Store(0)
		_, err := u.Login([]byte(c.name), []byte(c.password))
		if got := ann.calls.Load() + eve.calls.Load(); got != c.hashes || c.of != nil && c.of.calls.Load() != c.hashes {
			t.Errorf("%s %s: %d slow hashes, %d of ann's, want %d", c.name, c.password, got, ann.calls.Load(), c.hashes)
		}
		if (err == nil) != (c.password == "pw" && c.name != "nobody") {
			t.Errorf("%s %s: %v", c.name, c.password, err)
		}
	}
	var m dto.Metric
	if err := u.count.accepted.Write(&m); err != nil || m.Counter.GetValue() != 4 {
		t.Errorf("%v were accepted by the counter (%v)", m.Counter.GetValue(), err)
	}
}

// A name that there is not is always held against the same hash: two of
// different costs would tell it from one that there is.
func TestANameTakesTheSameTimeAlways(t *testing.T) {
	u, ann, eve := counted(t)
	for i := range 20 {
		ann.calls.Store(0)
		eve.calls.Store(0)
		for j := range 5 {
			_, _ = u.Login(fmt.Appendf(nil, "nobody%d", i), fmt.Appendf(nil, "guess%d", j))
		}
		if a, e := ann.calls.Load(), eve.calls.Load(); a*e != 0 || a+e != 5 {
			t.Errorf("nobody%d is held against one hash %d times and another %d times", i, a, e)
		}
	}
}

// Who floods with guesses neither takes more than the slots, nor keeps out who
// is known; who waits too long is told.
func TestGuessesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, ann, eve := counted(t)
		if _, err := u.Login([]byte("eve"), []byte("pw")); err != nil {
			t.Fatal(err)
		}
		ann.gate, eve.gate = make(chan struct{}), make(chan struct{})
		ann.calls.Store(0)
		eve.calls.Store(0)
		var wg sync.WaitGroup
		var refused, shed atomic.Int32
		const guesses = 12
		for i := range guesses {
			wg.Go(func() {
				switch _, err := u.Login([]byte("ann"), fmt.Appendf(nil, "guess%d", i)); {
				case errors.Is(err, proxy.ErrShed):
					shed.Add(1)
				case errors.Is(err, proxy.ErrWrongPassword):
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		if got := ann.calls.Load(); int(got) != cap(u.slots) {
			t.Errorf("%d slow hashes at a time, want %d", got, cap(u.slots))
		}
		began := time.Now()
		if _, err := u.Login([]byte("eve"), []byte("pw")); err != nil || time.Since(began) != 0 {
			t.Errorf("who is known: %v after %v", err, time.Since(began))
		}
		time.Sleep(patience) // of the bubble
		synctest.Wait()
		if got := int(shed.Load()); got != guesses-cap(u.slots) {
			t.Errorf("%d were told that there is too much", got)
		}
		close(ann.gate)
		wg.Wait()
		if got := int(refused.Load()); got != cap(u.slots) {
			t.Errorf("%d were refused", got)
		}
	})
}

// Many connections of one program that begin together cost one slow hash.
func TestLoginsOfOneUserShareAHash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, ann, _ := counted(t)
		u.slots = make(chan struct{}, 1)
		ann.gate = make(chan struct{})
		var wg sync.WaitGroup
		var in atomic.Int32
		for range 10 {
			wg.Go(func() {
				if _, err := u.Login([]byte("ann"), []byte("pw")); err == nil {
					in.Add(1)
				}
			})
		}
		synctest.Wait()
		close(ann.gate)
		wg.Wait()
		if in.Load() != 10 || ann.calls.Load() != 1 {
			t.Errorf("%d got in with %d slow hashes", in.Load(), ann.calls.Load())
		}
	})
}

// Behind a wrong password a slot rests: guesses take a quarter of the time.
func TestAWrongPasswordRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, ann, eve := counted(t)
		for _, s := range []*slow{ann, eve} {
			s.gate = make(chan struct{})
		}
		go func() { time.Sleep(20 * time.Millisecond); close(ann.gate) }()
		began := time.Now()
		_, err := u.Login([]byte("ann"), []byte("x"))
		if took := time.Since(began); !errors.Is(err, proxy.ErrWrongPassword) || took != (1+rest)*20*time.Millisecond {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// FuzzHash: what is read as a hash is written the same, and can be computed
// within the limits.
func FuzzHash(f *testing.F) {
	f.Add(argon2OfPassword)
	f.Add(bcryptOfPassword)
	f.Add("$argon2id$v=19$m=4294967295,t=4294967295,p=255$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA")
	f.Add("$argon2id$v=19$m=8,t=0,p=1$$")
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.HasPrefix(text, "$argon2") {
			_, _ = parseHash(text)
			return
		}
		a, err := parseArgon2(text)
		if err != nil {
			return
		}
		if a.String() != text || a.memory > 1<<20 || a.time > 64 || len(a.sum) > 128 {
			t.Errorf("%q is read as %s", text, a)
		}
	})
}
