package proxy

import "github.com/freshet-cache/freshet/proxy/source/row"

// Record names the record of the stream that brought a change.
type Record struct {
	Partition int
	Offset    int64
}

// Image is the row a change left behind, complete and in the form a fill
// would have brought: what may replace a valid entry.
type Image struct {
	Row      row.Row
	Position Position // of the change
	Commit   Time     // commit time of the change: the new entry's as-of
}
