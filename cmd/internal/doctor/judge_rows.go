package doctor

import (
	"fmt"
	"slices"
)

// judgeRows judges the tables whose rows are a connector's checkpoints.
func judgeRows(f *Facts) (out findings) {
	if f.Database == nil || !f.debezium() {
		return nil
	}
	var c *Connector
	if len(f.Connectors) > 0 {
		c = &f.Connectors[0]
	}
	plan, err := planFor(f, c)
	if err != nil {
		out.tell(Finding{Check: "checkpoint table", Level: Error, Found: err.Error(), Wanted: "names that can be read", Why: "no checkpoint can be written", Mend: do("correct stream.debezium.checkpoint_table, or the use cases' tables")})
		return out
	}
	for i := range f.Database.Checkpoints {
		t := &f.Database.Checkpoints[i]
		at := slices.IndexFunc(plan.Rows, func(r PlanRows) bool { return r.Table == t.Name.String() })
		if at < 0 {
			continue
		}
		need := plan.Rows[at]
		mend := sql("the owner of the tables", need.sql...)
		out.check(t.Found, Finding{Check: "checkpoint table", About: t.Name.String(), Level: Error, Found: ifElse(t.Found, "is there", "is not there"), Wanted: "a table whose rows the connector writes again and again", Why: "the stream proves nothing without checkpoints, and most reads go to the database", Mend: mend})
		if !t.Found {
			continue
		}
		if t.Rows >= 0 {
			out.check(t.Rows >= max(1, need.Partitions), Finding{Check: "checkpoint rows", About: t.Name.String(), Level: Error, Found: fmt.Sprintf("%d for %s", t.Rows, plural(need.Partitions, "partition")), Wanted: fmt.Sprintf("%d", need.Rows), Why: "a partition that gets none holds the watermark", Mend: mend})
		}
		if f.Database.Publication.Found {
			out.check(t.Published.In, Finding{Check: "checkpoint rows published", About: t.Name.String(), Level: Error, Found: ifElse(t.Published.In, "they are", "they are not"), Wanted: "publication " + f.Database.Publication.Name, Why: "the connector would not see them",
				Mend: sql("the owner of both", "ALTER PUBLICATION "+quoted(f.Database.Publication.Name)+" ADD TABLE "+t.Name.SQL())})
		}
	}
	return out
}
