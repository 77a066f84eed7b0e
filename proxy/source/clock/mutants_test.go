//go:build mutants && linux

package clock

import (
	"testing"

	"github.com/freshet-cache/freshet/proxy/hook"
)

func TestClockThatStopsIsCaught(t *testing.T) {
	hook.Set(hook.ClockSuspends)
	defer hook.Set(hook.None)
	err := boundsHoldAfterSleep()
	if err == nil {
		t.Fatal("the mutant lives")
	}
	t.Log(err)
}
