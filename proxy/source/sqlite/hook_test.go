//go:build mutants

package sqlite_test

import (
	"context"
	"errors"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// A caller that leaves while its write is under way cannot be told how it
// ends.
func TestUnknownOutcome(t *testing.T) {
	path, _ := newFile(t, suiteSchema)
	install(t, path, suiteSpecs()...)
	s, catalog := open(t, path, suiteSpecs()...)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	hook.Step(func(point string) {
		if point == "sqlite.begun" {
			leave()
			<-left
		}
	})
	results := make([]proxy.Written, 1)
	s.Apply(ctx, []proxy.Write{put(t, catalog, "blobs:a", "v", "1")}, results)
	hook.Step(nil)
	close(left)
	if !errors.Is(results[0].Err, proxy.ErrUnknownOutcome) {
		t.Errorf("got %v", results[0].Err)
	}
	if err := apply(s, put(t, catalog, "blobs:b", "v", "1"))[0].Err; err != nil { // behind the first
		t.Fatal(err)
	}
	want(t, load(t, s, catalog, "blobs:a"), `{"v":"MQ=="}`)
}
