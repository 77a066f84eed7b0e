package cdc

import "github.com/freshet-cache/freshet/proxy"

// Cache is what the applier drives.
type Cache interface {
	// Change bumps the stamp of key. If image is not nil and the entry was
	// valid just before and older than image, it is replaced; in every other
	// case it is dropped. key.Text is the caller's to reuse afterwards.
	Change(key proxy.Key, image *proxy.Image)
	// Void bumps the epoch of a use case: everything it holds is gone.
	Void(u *proxy.UseCase)
}
