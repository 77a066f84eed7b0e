package membership

import "context"

// Static is the directory of a list that does not change.
type Static []Peer

// Run tells the list once.
func (s Static) Run(ctx context.Context, tell func([]Peer, error)) error {
	tell(s, nil)
	<-ctx.Done()
	return nil
}
