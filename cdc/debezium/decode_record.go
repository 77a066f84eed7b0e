package debezium

// record is what the value of a record holds, or its key, each part as it is
// written; nil: it has no such part.
type record struct {
	whole           []byte
	schema, payload []byte // of what Connect's JSON converter describes

	op, source, before, after []byte // of an envelope; or columns that are called so

	did, deleted []byte // of a row that was taken out of its envelope
	told         source // what the transform was asked to add to it

	members     int
	heartbeat   bool
	transaction int // members that only the topic of transactions has
}

// read reports false if it is no JSON object.
func (r *record) read(raw []byte) bool {
	*r = record{whole: raw}
	o := objectOf(raw)
	for o.next() {
		r.members++
		switch string(o.name) {
		case "schema":
			r.schema = o.value
		case "payload":
			r.payload = o.value
		case "op":
			r.op = o.value
		case "__op":
			r.did = o.value
		case "source":
			if o.value[0] == '{' {
				r.source = o.value
			}
		case "before":
			r.before = o.value
		case "after":
			r.after = o.value
		case "__deleted":
			r.deleted = o.value
		case "ts_ms":
			r.heartbeat = true
		case "status", "event_count", "data_collections":
			r.transaction++
		default:
			r.told.add(o.name, o.value)
		}
	}
	return !o.bad
}

// unwrap takes what was read out of what Connect's JSON converter puts around
// it to describe it. Without schemas there is nothing around it.
func (r *record) unwrap() (schema, payload []byte, wrapped bool) {
	wrapped = r.members == 2 && r.payload != nil && r.schema != nil && (r.schema[0] == '{' || isNull(r.schema))
	if !wrapped {
		return nil, r.whole, false
	}
	return r.schema, r.payload, true
}

// service reports whether the record is of the connector's own: a heartbeat, or
// the begin or end of a transaction.
func (r *record) service() bool {
	return r.heartbeat && r.members == 1 || r.transaction == 3 && r.told.table == nil
}
