package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/node"
)

// ctlTimeout is far above what an answer takes.
const ctlTimeout = 10 * time.Second

// ctlRing prints a tier as one of its nodes sees it.
func ctlRing(ctx context.Context, args []string, stdout, _ io.Writer) error {
	f := flags("ctl ring", "[--admin ADDR] [--explain KEY] [--json]", stdout)
	admin := f.String("admin", "127.0.0.1:6480", "the admin address of a node")
	key := f.String("explain", "", "a key: say who owns it, and why")
	asJSON := f.Bool("json", false, "print JSON")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	said, err := askAdmin(ctx, adminQuestion{
		command: "ctl ring", what: "the node", admin: *admin, path: "/ring?" + url.Values{"key": {*key}}.Encode(), within: ctlTimeout,
		most: 16 << 20,
	})
	if err != nil {
		return err
	}
	if *asJSON {
		_, err := stdout.Write(said)
		return err
	}
	var ring node.Ring
	if err := json.Unmarshal(said, &ring); err != nil {
		return fmt.Errorf("what %s answers is no ring: %w", *admin, err)
	}
	return printRing(stdout, &ring)
}

func printRing(w io.Writer, r *node.Ring) error {
	fmt.Fprintf(w, "%s is %s: ring %d, checksum %s, placement %s, rings in force %d\n", r.Self, r.State, r.Version, r.Checksum, r.Placement, r.Rings)
	for _, p := range r.Problems {
		fmt.Fprintf(w, "degraded: %s\n", p)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nMEMBER\tSTATE\tWEIGHT\tSLOTS\tSHARE\tMOVED\tOCCUPANCY\tPASSES\tPEERS AT\tCLIENTS AT\tZONE\tVERSION")
	for _, m := range r.Members {
		if m.Degraded {
			m.State += ", degraded"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.1f %%\t%.1f %%\t%.2f\t%.0f %%\t%s\t%s\t%s\t%s\n",
			m.Name, m.State, m.Weight, m.Slots, 100*m.Share, 100*m.Moved, m.Occupancy, 100*m.Pass, m.Address, m.Clients, m.Zone, m.Version)
	}
	if k := r.Key; k != nil {
		fmt.Fprintf(t, "\n%s\tslot %d\nowner\t%s\nin the end\t%s\nwithout the owner\t%s\nwhy\t%s\n", k.Key, k.Slot, k.Owner, k.Final, k.Next, k.Why)
	}
	return t.Flush()
}
