package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

var errSilent = errors.New("the API server says nothing")

// hear listens to what the API server answers, and notes what is wrong: the
// informer calls again after refusals without telling anybody. It ends requests
// whose server says nothing for too long, before its answer or in the middle of
// it: client-go has a limit on the whole of a request only, and a watch has no
// end.
func (d *Directory) hear(next http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		ctx, cancel := context.WithCancelCause(r.Context())
		a := &answer{d: d, asked: r.Context(), ctx: ctx, cancel: cancel}
		a.timer = time.AfterFunc(d.options.Silence, func() { cancel(errSilent) })
		response, err := next.RoundTrip(r.WithContext(ctx))
		if err != nil {
			defer a.end()
			return nil, a.failed(err)
		}
		switch code := response.StatusCode; {
		case code < 400:
			d.note(nil)
		case code != http.StatusGone: // which is the course of things: the informer lists again
			d.note(errors.New(response.Status))
		}
		a.body, response.Body = response.Body, a
		return response, nil
	})
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// answer is a body that is listened to.
type answer struct {
	d      *Directory
	body   io.ReadCloser
	timer  *time.Timer
	asked  context.Context // of who asked
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if n > 0 {
		a.timer.Reset(a.d.options.Silence)
	}
	if err != nil && err != io.EOF {
		err = a.failed(err)
	}
	return n, err
}

// failed notes why a request failed, unless who asked has ended it.
func (a *answer) failed(err error) error {
	if errors.Is(context.Cause(a.ctx), errSilent) {
		err = errSilent
	}
	if a.asked.Err() == nil {
		a.d.note(err)
	}
	return err
}

func (a *answer) end() {
	a.timer.Stop()
	a.cancel(nil)
}

func (a *answer) Close() error {
	defer a.end()
	return a.body.Close()
}

// note keeps what is wrong until something is right.
func (d *Directory) note(err error) {
	if err != nil {
		err = fmt.Errorf("kubernetes: endpoints of %s/%s: %w", d.options.Namespace, d.options.Service, err)
	}
	d.mu.Lock()
	d.trouble = err
	d.mu.Unlock()
	signal(d.changed)
}
