package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	discovery "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/freshet-cache/freshet/hashring/membership"
)

// Options say where the slices are.
type Options struct {
	// Namespace and Service whose endpoints are the members. Required.
	Namespace, Service string
	// Port is the name of the port where members reach each other. It may be
	// empty where there is one.
	Port string
	// Server is the URL of the API server. Default: that of the cluster that
	// this process runs in, with the account of its pod.
	Server string
	// TokenFile and CAFile belong to Server.
	TokenFile, CAFile string
	// Silence is how long the API server may say nothing. Default: 3 min.
	Silence time.Duration
}

// Directory is the members behind a Service. It may be run once.
type Directory struct {
	options Options
	log     *slog.Logger
	changed chan struct{}

	mu      sync.Mutex
	trouble error
}

// New makes a directory. It refuses options without a Service.
func New(log *slog.Logger, o Options) (*Directory, error) {
	if o.Namespace == "" || o.Service == "" {
		return nil, errors.New("kubernetes: a namespace and a service are needed")
	}
	o.Silence = cmp.Or(o.Silence, 3*time.Minute)
	return &Directory{options: o, log: log, changed: make(chan struct{}, 1)}, nil
}

// Run follows the slices until ctx ends. It fails if this process is in no
// cluster and no server is given.
func (d *Directory) Run(ctx context.Context, tell func([]membership.Peer, error)) error {
	client, err := d.client()
	if err != nil {
		return fmt.Errorf("kubernetes: %w", err)
	}
	informer := cache.NewSharedInformer(cache.NewFilteredListWatchFromClient(client, "endpointslices", d.options.Namespace, func(o *metav1.ListOptions) {
		o.LabelSelector = discovery.LabelServiceName + "=" + d.options.Service
	}), &discovery.EndpointSlice{}, 0)
	if err := d.listen(informer); err != nil {
		return fmt.Errorf("kubernetes: %w", err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	// client-go logs by what it finds in a context, or to standard error.
	logging := klog.NewContext(ctx, logr.FromSlogHandler(d.log.Handler()))
	running.Go(func() { informer.RunWithContext(logging) })
	// The last of the first list may be heard of before it counts as listed, and
	// of an empty one nothing is.
	running.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			signal(d.changed)
		}
	})
	for {
		select {
		case <-d.changed:
		case <-ctx.Done():
			return nil
		}
		d.report(informer, tell)
	}
}

// report tells what the informer holds: nothing before its first list.
func (d *Directory) report(informer cache.SharedInformer, tell func([]membership.Peer, error)) {
	d.mu.Lock()
	trouble := d.trouble
	d.mu.Unlock()
	if !informer.HasSynced() {
		if trouble != nil {
			tell(nil, trouble)
		}
		return
	}
	peers, err := d.options.members(informer.GetStore().List())
	tell(peers, errors.Join(trouble, err))
}

func (d *Directory) client() (rest.Interface, error) {
	c := &rest.Config{Host: d.options.Server, BearerTokenFile: d.options.TokenFile, TLSClientConfig: rest.TLSClientConfig{CAFile: d.options.CAFile}}
	if d.options.Server == "" {
		var err error
		if c, err = rest.InClusterConfig(); err != nil {
			return nil, err
		}
	}
	scheme := runtime.NewScheme()
	if err := discovery.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c.APIPath, c.GroupVersion = "/apis", &discovery.SchemeGroupVersion
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.Wrap(d.hear)
	return rest.RESTClientFor(c)
}

// listen has the informer say when to look, and what is wrong.
func (d *Directory) listen(informer cache.SharedInformer) error {
	wake := func() { signal(d.changed) }
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { wake() }, UpdateFunc: func(any, any) { wake() }, DeleteFunc: func(any) { wake() },
	})
	if err != nil {
		return err
	}
	return informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		// The end of a watch, and a version that is too old, are the course of
		// things: the informer lists again.
		if !errors.Is(err, io.EOF) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			d.note(err)
		}
	})
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
