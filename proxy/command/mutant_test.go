//go:build mutants

package command

import (
	"testing"

	"github.com/freshet-cache/freshet/proxy/hook"
)

func TestMutantRepliesShifted(t *testing.T) {
	hook.Set(hook.RepliesShifted)
	defer hook.Set(hook.None)
	if checkOrder(t) == nil {
		t.Error("replies off by one are not noticed")
	}
}

func TestMutantSessionTokenIsAsOf(t *testing.T) {
	hook.Set(hook.SessionTokenIsAsOf)
	defer hook.Set(hook.None)
	if checkSession(t) == nil {
		t.Error("a session whose token is an as-of is not noticed")
	}
}
