package proxy

import "github.com/freshet-cache/freshet/proxy/source/row"

// Image is the row a change left behind, complete and in the form a fill
// would have brought: what may replace a valid entry.
type Image struct {
	Row      row.Row
	Position Position // of the change
	Commit   Time     // commit time of the change: the new entry's as-of
}
