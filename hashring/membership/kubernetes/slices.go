package kubernetes

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	discovery "k8s.io/api/discovery/v1"

	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
)

// members returns who is in slices, by name, and what is half. A pod may be
// in several: with an address of each family (then IPv4 counts), or twice while
// it moves from one slice to another (then the state that serves counts).
func (o *Options) members(objects []any) ([]membership.Peer, error) {
	var all []*discovery.EndpointSlice
	for _, object := range objects {
		if s, ok := object.(*discovery.EndpointSlice); ok {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *discovery.EndpointSlice) int {
		return cmp.Or(cmp.Compare(a.AddressType, b.AddressType), cmp.Compare(a.Name, b.Name))
	})
	var peers []membership.Peer
	var problems []error
	for _, s := range all {
		found, err := o.of(s)
		peers, problems = append(peers, found...), append(problems, err)
	}
	slices.SortStableFunc(peers, func(a, b membership.Peer) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.State, b.State))
	})
	peers = slices.CompactFunc(peers, func(a, b membership.Peer) bool { return a.Name == b.Name })
	return peers, errors.Join(problems...)
}

// of returns the members in one slice.
func (o *Options) of(s *discovery.EndpointSlice) (peers []membership.Peer, _ error) {
	if s.AddressType == discovery.AddressTypeFQDN {
		return nil, nil
	}
	port, err := o.port(s)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, e := range s.Endpoints {
		if len(e.Addresses) == 0 {
			problems = append(problems, fmt.Errorf("kubernetes: slice %s has an endpoint without an address", s.Name))
			continue
		}
		// The further addresses of an endpoint mean nothing, says the API.
		address := net.JoinHostPort(e.Addresses[0], port)
		p := membership.Peer{Member: hashring.Member{Name: address, Weight: 1, State: state(e.Conditions)}, Address: address}
		if e.TargetRef != nil && e.TargetRef.Kind == "Pod" && e.TargetRef.Name != "" {
			p.Name = e.TargetRef.Name
		}
		if e.Zone != nil {
			p.Zone = *e.Zone
		}
		peers = append(peers, p)
	}
	return peers, errors.Join(problems...)
}

func (o *Options) port(s *discovery.EndpointSlice) (string, error) {
	for _, p := range s.Ports {
		named := p.Name != nil && *p.Name == o.Port
		if p.Port != nil && (named || o.Port == "" && len(s.Ports) == 1) {
			return strconv.Itoa(int(*p.Port)), nil
		}
	}
	if len(s.Endpoints) == 0 {
		return "", nil // a slice of nobody has no ports
	}
	return "", fmt.Errorf("kubernetes: slice %s has no port %q", s.Name, o.Port)
}

// state reads conditions, of which unset ones have a meaning: ready.
func state(c discovery.EndpointConditions) hashring.State {
	switch {
	case c.Terminating != nil && *c.Terminating:
		return hashring.Leaving
	case c.Ready == nil || *c.Ready:
		return hashring.Serving
	}
	return hashring.Starting
}
