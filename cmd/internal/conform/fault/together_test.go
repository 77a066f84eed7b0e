package fault

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// What goes on together begins in order, and ends the other way round; what
// has begun is ended also where the next one does not begin.
func TestTogether(t *testing.T) {
	var done []string
	broken := errors.New("broken")
	of := func(name, part string, least time.Duration, err error) Fault {
		note := func(what string, err error) func(context.Context) error {
			return func(context.Context) error {
				done = append(done, what+name)
				return err
			}
		}
		return Fault{Name: name, Parts: []string{part, "all"}, Least: least, Most: 2 * least, Begin: note("+", err), End: note("-", nil)}
	}
	once := of("c", "z", 1, nil)
	once.End, once.Clocks = nil, true
	f := Together("a+b+c", of("a", "x", 3, nil), of("b", "y", 2, nil), once)
	if f.Name != "a+b+c" || !f.Clocks || f.Least != 3 || f.Most != 6 || !slices.Equal(f.Parts, []string{"all", "x", "y", "z"}) {
		t.Errorf("%+v", f)
	}
	for range 2 {
		done = nil
		if err := errors.Join(f.Begin(t.Context()), f.End(t.Context())); err != nil || !slices.Equal(done, []string{"+a", "+b", "+c", "-b", "-a"}) {
			t.Errorf("%v, %v", done, err)
		}
	}
	done = nil
	f = Together("a+b+c", of("a", "x", 3, nil), of("b", "y", 2, broken), once)
	if err := f.Begin(t.Context()); !errors.Is(err, broken) {
		t.Errorf("begins with %v", err)
	}
	if err := f.End(t.Context()); err != nil || !slices.Equal(done, []string{"+a", "+b", "-b", "-a"}) {
		t.Errorf("%v, %v", done, err)
	}
}
