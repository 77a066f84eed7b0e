package debezium

import (
	"strconv"

	"github.com/freshet-cache/freshet/proxy"
)

// checkpoint takes a row of a table of checkpoints. Only a heartbeat's update
// is one: rows that were just made, or read by a snapshot, prove nothing of
// what is in front of them. But a snapshot proves that changes may be missing,
// in each partition that has a row.
func (d *Decoder) checkpoint(op, raw []byte, t *table) *DecodeError {
	d.message.Anew = string(op) == `"r"`
	if string(op) != `"u"` {
		return nil
	}
	var found int
	told := true
	d.mark = Mark{}
	o := objectOf(raw)
	for o.next() {
		n := number(o.value)
		switch string(o.name) {
		case "id":
			d.mark.Row = n
		case "seq":
			d.mark.Seq = uint64(n)
		case "t":
			d.mark.T = proxy.Time(n)
		case "system":
			d.mark.Source.System = uint64(n)
			told = told && !isNull(o.value)
		case "timeline":
			d.mark.Source.Timeline = uint64(n)
		case "started":
			d.mark.Source.Started = n
		case "slot":
			d.mark.Slot = d.words(o.value)
			found-- // it and the fingerprint may be missing
		case "fingerprint":
			d.mark.Fingerprint = d.words(o.value)
			found--
		default:
			found--
		}
		found++
	}
	switch {
	case o.bad || found != 6:
		return &DecodeError{Table: t.name, Reason: "the row does not have the columns of a checkpoint", Mend: "make the table as freshet doctor --debezium says"}
	case told && d.mark.T > 0:
		d.message.Mark = &d.mark
	}
	return nil
}

// number is a whole number, and 0 what is none.
func number(raw []byte) int64 {
	if len(raw) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// words is what a string says, and empty what is none.
func (d *Decoder) words(raw []byte) string {
	if !isString(raw) {
		return ""
	}
	text, _ := d.textOf(raw)
	return string(text)
}
