package conform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
)

// faults chooses those that were named. A name may be of several, one for each
// of those it can happen to; names with a plus between them go on at the same
// time, all that there are of each.
func (o *Options) faults(all []fault.Fault) ([]fault.Fault, error) {
	if o.NoFaults {
		return nil, nil
	}
	if len(o.Faults) == 0 {
		return all, nil
	}
	var out []fault.Fault
	for _, name := range o.Faults {
		var parts []fault.Fault
		for one := range strings.SplitSeq(name, "+") {
			found := named(all, one)
			if len(found) == 0 {
				return nil, fmt.Errorf("there is no fault %q; there are: %s", one, names(all))
			}
			parts = append(parts, found...)
		}
		if strings.Contains(name, "+") {
			parts = []fault.Fault{fault.Together(name, parts...)}
		}
		out = append(out, parts...)
	}
	return out, nil
}

func named(all []fault.Fault, name string) (found []fault.Fault) {
	for _, f := range all {
		if f.Name == name {
			found = append(found, f)
		}
	}
	return found
}

func names(all []fault.Fault) string {
	var out []string
	for _, f := range all {
		if !slices.Contains(out, f.Name) {
			out = append(out, f.Name)
		}
	}
	return strings.Join(out, ", ")
}
