package proxy

// Right is what somebody may do with a use case. Each includes those before
// it.
type Right uint8

// The rights.
const (
	MayNothing Right = iota
	MayRead
	MayWrite
	MayAdmin // drop what is cached
)

// Rights are what one user may do. They are immutable.
type Rights struct {
	ByUseCase []Right // by its ID
	Rest      Right   // with what is no use case: names there are none of, and the node itself
	Caller    *Caller // who they are to a Source; nil: nobody in particular
}

// Of returns the right to a use case.
func (r *Rights) Of(u *UseCase) Right { return r.ByUseCase[u.ID] }

// AllRights returns every right to everything.
func AllRights(c *Catalog) *Rights {
	r := &Rights{ByUseCase: make([]Right, len(c.All())), Rest: MayAdmin}
	for i := range r.ByUseCase {
		r.ByUseCase[i] = MayAdmin
	}
	return r
}
