package debezium

import (
	"errors"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// tables of the tests by hand, one use case for each kind of key.
func handCatalog(t testing.TB) *proxy.Catalog {
	t.Helper()
	c, err := proxy.NewCatalog(
		mapping("u", "users", key("id", row.KeyInt)),
		mapping("mail", "users", key("email", row.KeyText)),
		mapping("f", "files", key("digest", row.KeyBytes)),
		mapping("t", "shop.things", key("id", row.KeyUUID)),
		mapping("a", "a.twins", key("id", row.KeyInt)),
		mapping("b", "b.twins", key("id", row.KeyInt)),
		mapping("odd", `"my.db"."a""b"`, key("ключ", row.KeyText)),
		mapping("my", "inventory.customers", key("id", row.KeyInt)),
	)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func handDecoder(t testing.TB) *Decoder {
	t.Helper()
	return NewDecoder(Options{Catalog: handCatalog(t), CheckpointTable: "freshet_checkpoint", Unavailable: "__gone"})
}

const (
	users  = `"source":{"connector":"postgresql","schema":"public","table":"users","txId":7,"ts_ms":5,"snapshot":"false"}`
	files  = `"source":{"connector":"postgresql","schema":"public","table":"files","txId":7}`
	things = `"source":{"connector":"postgresql","schema":"shop","table":"things","txId":7}`
)

// Each record, and what is dropped: or of an error what it has to say.
func TestDecode(t *testing.T) {
	for name, test := range map[string]struct{ key, value, want string }{
		"insert":     {`{"id":1}`, `{"op":"c","before":null,"after":{"id":1,"email":"a","x":{}},` + users + `}`, `tx 7 at 5000000: "u:1" "mail:a"`},
		"any order":  {`{"id":1}`, ` { "ts_ms" : 3, ` + users + `, "after" : { "x":[], "email" : "a" , "id" : 1 } , "op" : "c" } `, `tx 7 at 5000000: "u:1" "mail:a"`},
		"update":     {`{"id":1}`, `{"op":"u","before":null,"after":{"id":1,"email":"a"},` + users + `}`, `"u:1" "mail:a"`},
		"key moves":  {`{"id":1}`, `{"op":"u","before":{"id":1,"email":"a"},"after":{"id":1,"email":"b"},` + users + `}`, `"u:1" "mail:a" "mail:b"`},
		"delete":     {`{"id":1}`, `{"op":"d","before":{"id":1,"email":"a"},"after":null,` + users + `}`, `"u:1" "mail:a"`},
		"no before":  {`{"id":1}`, `{"op":"d","before":null,"after":null,` + users + `}`, `"u:1" void mail`},
		"old nulls":  {`{"id":1}`, `{"op":"d","before":{"id":1,"email":null},` + users + `}`, `"u:1" void mail`},
		"toast":      {`{"id":1}`, `{"op":"u","after":{"id":1,"email":"__gone"},` + users + `}`, `"u:1" void mail`},
		"truncate":   {``, `{"op":"t",` + users + `}`, `tx 7 at 5000000: void u void mail`},
		"read":       {`{"id":1}`, `{"op":"r","after":{"id":1,"email":"a"},` + strings.Replace(users, `"false"`, `"true"`, 1) + `}`, `tx 0 at 5000000: "u:1" "mail:a"`},
		"chunk":      {`{"id":1}`, `{"op":"r","after":{"id":1,"email":"a"},` + strings.Replace(users, `"false"`, `"incremental"`, 1) + `}`, `tx 0 at 5000000: "u:1" "mail:a"`},
		"first read": {`{"id":1}`, `{"op":"r","after":{"id":1,"email":"a"},` + strings.Replace(users, `"false"`, `"first_in_data_collection"`, 1) + `}`, `tx 0 at 5000000: void u void mail`},
		"only read":  {`{"id":1}`, `{"op":"r","after":{"id":1,"email":"a"},` + strings.Replace(users, `"false"`, `"last"`, 1) + `}`, `void u void mail`},
		"message":    {`{"prefix":"p"}`, `{"op":"m","source":{"table":""},"message":{}}`, `-`},
		"replicated": {`{"id":1}`, `{"op":"c","after":{"id":1,"email":"a"},` + strings.Replace(users, `"txId"`, `"origin":"o","txId"`, 1) + `}`, `tx 7 at -9223372036854775808: "u:1"`},

		"escaped text":     {`{"id":1}`, `{"op":"c","after":{"id":1,"email":"\u00fc:%\n\ud83d\ude00"},` + users + `}`, `"u:1" "mail:ü%3A%25\n😀"`},
		"no text":          {`{"id":1}`, `{"op":"c","after":{"id":1,"email":"\ud83d"},` + users + `}`, `void all of users, table users: key column email is not UTF-8`},
		"number for text":  {`{"id":1}`, `{"op":"c","after":{"id":1,"email":5},` + users + `}`, `key column email is not a string`},
		"a double":         {`{"id":1}`, `{"op":"c","after":{"id":1.0,"email":"a"},` + users + `}`, `key column id is not a whole number in digits: set decimal.handling.mode=string`},
		"an exponent":      {`{"id":1}`, `{"op":"c","after":{"id":1e3,"email":"a"},` + users + `}`, `key column id is not a whole number`},
		"minus zero":       {`{"id":0}`, `{"op":"c","after":{"id":-0,"email":"a"},` + users + `}`, `key column id is not a whole number`},
		"digits as text":   {`{"id":1}`, `{"op":"c","after":{"id":"1234","email":"a"},` + users + `}`, `key column id is not a whole number`},
		"uuid":             {`{}`, `{"op":"c","after":{"id":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},` + things + `}`, `"t:a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`},
		"uuid in capitals": {`{}`, `{"op":"c","after":{"id":"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"},` + things + `}`, `void all of shop.things, table shop.things: key column id is no UUID`},

		"base64":       {`{}`, `{"op":"c","after":{"digest":"+/8="},` + files + `}`, `"f:\xfb\xff"`},
		"base64 url":   {`{}`, `{"op":"c","after":{"digest":"-_8="},` + files + `}`, `"f:\xfb\xff"`},
		"hex":          {`{}`, `{"op":"c","after":{"digest":"00ff01"},` + files + `}`, `"f:\x00\xff\x01"`},
		"both":         {`{}`, `{"op":"c","after":{"digest":"00ff"},` + files + `}`, `void all of files, table files: key column digest may be base64 as well as hexadecimal digits: set binary.handling.mode=bytes`},
		"no bytes":     {`{}`, `{"op":"c","after":{"digest":"00ff?"},` + files + `}`, `key column digest is not bytes`},
		"numbers":      {`{}`, `{"op":"c","after":{"digest":[1,2]},` + files + `}`, `key column digest is not bytes`},
		"toast base64": {`{}`, `{"op":"u","after":{"digest":"X19nb25l"},` + files + `}`, `void f`},
		"toast hex":    {`{}`, `{"op":"u","after":{"digest":"5f5f676f6e65"},` + files + `}`, `void f`},
		"toast text":   {`{}`, `{"op":"u","after":{"digest":"__gone"},` + files + `}`, `void f`},
		"bytes by schema": {`{}`, `{"schema":{"type":"struct","fields":[{"field":"after","type":"struct","fields":[{"field":"digest","type":"bytes"}]}]},
			"payload":{"op":"c","after":{"digest":"00ff"},` + files + `}}`, `"f:\xd3G\xdf"`},

		"key with a schema":     {`{"schema":{"type":"struct"},"payload":{"id":1}}`, `{"op":"u","after":{"id":1,"email":"a"},` + users + `}`, `"u:1" "mail:a"`},
		"key of another column": {`{"n":5}`, `{"op":"u","after":{"id":1,"email":"a"},` + users + `}`, `"u:1" "mail:a"`},
		"key as text":           {`Struct{id=1}`, `{"op":"u","after":{"id":1,"email":"a"},` + users + `}`, `"u:1" "mail:a"`},
		"key of another row":    {`{"id":2}`, `{"op":"u","after":{"id":1,"email":"a"},` + users + `}`, `void all of users, table users: key column id is another one in the record's key than in its row`},
		"no key":                {``, `{"op":"u","after":{"id":1,"email":"a"},` + users + `}`, `void all of users, table users: the record has no key`},
		"null key":              {`{"schema":null,"payload":null}`, `{"op":"u","after":{"id":1,"email":"a"},` + users + `}`, `the record has no key`},
		"column left out":       {`{"id":1}`, `{"op":"c","after":{"id":1},` + users + `}`, `void all of users, table users: the record does not have key column email: do not leave it out or rename it: column.exclude.list`},
		"no row":                {`{"id":1}`, `{"op":"c","after":null,` + users + `}`, `the record has no row`},
		"row is no object":      {`{"id":1}`, `{"op":"c","after":[1],` + users + `}`, `a row is not a JSON object`},
		"unknown operation":     {`{"id":1}`, `{"op":"x","after":{"id":1,"email":"a"},` + users + `}`, `void all of users, table users: operation "x" is not known`},
		"no operation":          {`{"id":1}`, `{"op":null,"after":{"id":1,"email":"a"},` + users + `}`, `operation null is not known`},
		"no transaction":        {`{"id":1}`, `{"op":"c","after":{"id":1,"email":"a"},` + strings.Replace(users, `"txId":7`, `"txId":null`, 1) + `}`, `void all of users, table users: the record does not say its transaction`},
		"no table":              {`{"id":1}`, `{"op":"c","after":{"id":1},"source":{"connector":"postgresql"}}`, `void all of , the record's source block does not say which table`},
		"not mapped":            {``, `{"op":"x","source":{"connector":"postgresql","schema":"other","table":"users","txId":7}}`, `-`},

		"avro":            {`{}`, "\x00\x00\x00\x00\x01x", `void all of , the record is Avro, or another form that needs a schema registry: set value.converter=org.apache.kafka.connect.json.JsonConverter`},
		"text":            {`{}`, `Struct{id=1}`, `the record is not a JSON object`},
		"cut short":       {`{}`, `{"op":"c"`, `the record is not a JSON object`},
		"an array":        {`{}`, `{"schema":{},"payload":[]}`, `the record's payload is not a JSON object`},
		"another's":       {`{}`, `{"id":1,"name":"x"}`, `void all of , the record is no envelope of Debezium's, and does not say which table`},
		"schema change":   {`{}`, `{"source":{"table":"x"},"databaseName":"d","ddl":"ALTER"}`, `void all of , the record is no envelope`},
		"heartbeat":       {`{"serverName":"s"}`, `{"ts_ms":1}`, `-`},
		"transaction":     {`{"id":"1"}`, `{"status":"END","id":"1:2","event_count":1,"data_collections":[{"data_collection":"public.users","event_count":1}],"ts_ms":1}`, `-`},
		"tombstone":       {`{"id":1}`, ``, `void all of , a tombstone does not say which transaction`},
		"wrapped nothing": {`{"id":1}`, `{"schema":{"type":"struct","name":"x.Value"},"payload":null}`, `void all of , a tombstone does not say`},

		"flat":              {`{"id":1}`, `{"id":1,"email":"a","__op":"c","__schema":"public","__table":"users","__txId":7,"__source_ts_ms":5,"__ts_ms":9}`, `tx 7 at 5000000: "u:1" "mail:a"`},
		"flat update":       {`{"id":1}`, `{"id":1,"email":"b","__op":"u","__schema":"public","__table":"users","__source_txId":7}`, `tx 7 at -9223372036854775808: "u:1" void mail`},
		"flat delete":       {`{"id":1}`, `{"id":1,"email":"b","__deleted":"true","__schema":"public","__table":"users","__source_txId":7}`, `"u:1" "mail:b"`},
		"flat read":         {`{"id":1}`, `{"id":1,"email":"b","__op":"r","__schema":"public","__table":"users","__source_snapshot":"true"}`, `tx 0 at -9223372036854775808: "u:1" "mail:b"`},
		"flat read, bare":   {`{"id":1}`, `{"id":1,"email":"b","__op":"r","__schema":"public","__table":"users"}`, `void u void mail`},
		"flat, no schema":   {`{"id":1}`, `{"id":1,"email":"a","__op":"c","__db":"shop","__table":"users","__txId":7}`, `"u:1" "mail:a"`},
		"flat, twins":       {`{"id":1}`, `{"id":1,"__op":"c","__table":"twins","__txId":7}`, `void all of , the record does not say its table's schema`},
		"flat, no op":       {`{"id":1}`, `{"id":1,"email":"a","__table":"users","__txId":7,"__deleted":"false"}`, `void all of users, table users: the record does not say what was done to the row: set add.fields=`},
		"flat, column op":   {`{"id":1}`, `{"id":1,"email":"a","op":"c","__table":"users","__txId":7,"__deleted":"false"}`, `void all of users, table users: the record does not say what was done to the row: set add.fields=`},
		"flat, op behind":   {`{"id":1}`, `{"id":1,"email":"a","__op":"u","__table":"users","__txId":7,"op":"c"}`, `"u:1" void mail`},
		"flat, no tx":       {`{"id":1}`, `{"id":1,"email":"a","__op":"c","__table":"users"}`, `void all of users, table users: the record does not say its transaction`},
		"flat, not mapped":  {`{"id":1}`, `{"id":1,"__table":"other"}`, `-`},
		"flat, null schema": {`{"id":1}`, `{"schema":null,"payload":{"id":1,"email":"a","__op":"c","__table":"users","__txId":7}}`, `"u:1" "mail:a"`},

		"mysql": {`{"id":1004}`, `{"before":null,"after":{"id":1004,"name":"Anne"},"source":{"version":"3.6.1.Final","connector":"mysql","name":"m","ts_ms":5,
			"snapshot":"false","db":"inventory","table":"customers","server_id":223344,"gtid":null,"file":"mysql-bin.000003","pos":484,"row":0,"thread":7,"query":null},
			"op":"c","ts_ms":1,"transaction":null}`, `tx 0 at 5000000: "my:1004"`},
		"mysql snapshot": {`{"id":1004}`, `{"after":{"id":1004},"source":{"connector":"mysql","snapshot":"first","db":"inventory","table":"customers","gtid":"a:1-5"},"op":"r"}`, `tx 0 at -9223372036854775808: void my`},
		"mysql unsigned": {`{"id":5}`, `{"schema":{"type":"struct","fields":[{"field":"after","type":"struct","fields":[{"field":"id","type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"0"}}]}]},
			"payload":{"after":{"id":"BQ=="},"source":{"connector":"mysql","db":"inventory","table":"customers"},"op":"c"}}`, `"my:5"`},
		"mysql, negative": {`{"id":-129}`, `{"schema":{"type":"struct","fields":[{"field":"id","type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"0"}}]},
			"payload":{"id":"/38=","__connector":"mysql","__db":"inventory","__table":"customers","__op":"c"}}`, `"my:-129"`},
		"mysql, as text": {`{"id":5}`, `{"schema":{"type":"struct","fields":[{"field":"after","type":"struct","fields":[{"field":"id","type":"string"}]}]},
			"payload":{"after":{"id":"5"},"source":{"connector":"mysql","db":"inventory","table":"customers"},"op":"c"}}`, `"my:5"`},

		"another database's": {`{"id":1004}`, `{"after":{"id":1004},"source":{"connector":"mysql","db":"inventory","table":"customers","txId":5},"op":"c"}`, `void all of inventory.customers, table inventory.customers: the record does not say its transaction`},

		"quoted names": {`{"ключ":"x"}`, `{"op":"c","after":{"\u043a\u043bюч":"x"},"source":{"connector":"postgresql","schema":"my.db","table":"a\"b","txId":7}}`, `"odd:x"`},
	} {
		d := handDecoder(t)
		d.ungated = strings.HasPrefix(name, "mysql")
		m, err := d.Decode("topic", []byte(test.key), []byte(test.value))
		if got := meaning(d.options.Catalog, m, err); !strings.Contains(got, test.want) || test.want == "-" && got != "-" {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
		var fault *DecodeError
		if errors.As(err, &fault) && (fault.Mend == "" || fault.Table != "" && fault.Tx == 0 && !strings.Contains(err.Error(), "its transaction")) {
			t.Errorf("%s: neither mend nor transaction may be missing: %+v", name, fault)
		}
	}
}

// Without a catalog nothing is mapped, and nothing is said of anything.
func TestNoCatalog(t *testing.T) {
	d := NewDecoder(Options{})
	for _, value := range []string{`{"op":"c","after":{"id":1},` + users + `}`, `{"id":1,"__op":"c","__table":"users"}`} {
		if m, err := d.Decode("t", []byte(`{"id":1}`), []byte(value)); err != nil || m.Change != nil || m.Mark != nil {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

// A tombstone says nothing new behind the record of a deletion. Where it may be
// all there is of one, it cannot be gated.
func TestTombstones(t *testing.T) {
	envelope := `{"op":"d","before":{"id":1,"email":"a"},` + users + `}`
	message := `{"op":"m","source":{"table":""}}`
	rewritten := `{"id":1,"email":"a","__op":"c","__table":"users","__txId":7,"__deleted":"false"}`
	bare := `{"id":1,"email":"a","__op":"c","__table":"users","__txId":7}`
	for name, test := range map[string]struct {
		before []string
		said   bool
	}{
		"envelopes":               {[]string{envelope}, true},
		"rewritten":               {[]string{rewritten}, true},
		"bare":                    {[]string{bare}, false},
		"bare, among envelopes":   {[]string{envelope, bare, envelope}, false},
		"bare, and a message":     {[]string{bare, message}, false},
		"only a message":          {[]string{message}, false},
		"bare, and then mended":   {[]string{bare, rewritten}, true},
		"nothing known of it yet": {nil, false},
	} {
		d := handDecoder(t)
		for _, value := range test.before {
			if _, err := d.Decode("topic", []byte(`{"id":1}`), []byte(value)); err != nil {
				t.Fatal(err)
			}
		}
		for _, nothing := range []string{"", `{"schema":{"type":"struct"},"payload":null}`} {
			m, err := d.Decode("topic", []byte(`{"id":1}`), []byte(nothing))
			if test.said != (err == nil) || err == nil && m.Change != nil {
				t.Errorf("%s: %v, %v", name, m, err)
			}
		}
		if _, err := d.Decode("another", nil, nil); err == nil {
			t.Errorf("%s: another topic's records are no others", name)
		}
	}
}

func TestCheckpoint(t *testing.T) {
	const from = `,"source":{"connector":"postgresql","schema":"public","table":"freshet_checkpoint_2","txId":9}}`
	const columns = `"id":3,"seq":8,"t":1700000000000000001,"system":-5,"timeline":2,"started":99`
	whole := Mark{Row: 3, Seq: 8, T: 1700000000000000001, Source: proxy.Identity{System: 1<<64 - 5, Timeline: 2, Started: 99}, Slot: "s", Fingerprint: "f"}
	short := whole
	short.Slot, short.Fingerprint = "", ""
	for name, test := range map[string]struct {
		value string
		want  *Mark
		fails bool
	}{
		"whole":                      {`{"op":"u","before":null,"after":{` + columns + `,"slot":"s","fingerprint":"f","more":1}` + from, &whole, false},
		"nothing that is not needed": {`{"op":"u","after":{` + columns + `}` + from, &short, false},
		"null":                       {`{"op":"u","after":{` + columns + `,"slot":null,"fingerprint":null}` + from, &short, false},
		"flat":                       {`{` + columns + `,"slot":"s","fingerprint":"f","__op":"u","__table":"freshet_checkpoint"}`, &whole, false},
		"made":                       {`{"op":"c","after":{` + columns + `}` + from, nil, false},
		"read by a snapshot":         {`{"op":"r","after":{` + columns + `}` + from, nil, false},
		"gone":                       {`{"op":"d","before":{` + columns + `}` + from, nil, false},
		"a relay's":                  {`{"op":"u","after":{"id":0,"seq":0,"t":5,"system":null,"timeline":null,"started":null}` + from, nil, false},
		"before a heartbeat":         {`{"op":"u","after":{` + strings.Replace(columns, "1700000000000000001", "0", 1) + `}` + from, nil, false},
		"other columns":              {`{"op":"u","after":{"id":3,"t":5}` + from, nil, true},
		"no row":                     {`{"op":"u","after":null` + from, nil, true},
	} {
		m, err := handDecoder(t).Decode("topic", []byte(`{"id":3}`), []byte(test.value))
		switch {
		case test.fails != (err != nil):
			t.Errorf("%s: %v", name, err)
		case err != nil:
			if !strings.Contains(err.Error(), "doctor --debezium") {
				t.Errorf("%s: %v", name, err)
			}
		case m.Anew != (name == "read by a snapshot"):
			t.Errorf("%s: anew %t", name, m.Anew)
		case (m.Mark == nil) != (test.want == nil) || m.Mark != nil && *m.Mark != *test.want || m.Change != nil:
			t.Errorf("%s: %+v", name, m.Mark)
		}
	}
}

// A table is asked for once, and what was learnt of others is forgotten when
// there are too many.
func TestTablesAreBounded(t *testing.T) {
	d := handDecoder(t)
	for i := range 2 * maxTables {
		name := strings.Repeat("x", i%100) + string(rune('a'+i%26)) + strings.Repeat("y", i/100)
		if _, err := d.Decode("t", nil, []byte(`{"op":"c","source":{"connector":"postgresql","schema":"s","table":"`+name+`"}}`)); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.tables) > maxTables {
		t.Errorf("%d tables are remembered", len(d.tables))
	}
	m, err := d.Decode("t", []byte(`{"id":1}`), []byte(`{"op":"c","after":{"id":1,"email":"a"},`+users+`}`))
	if err != nil || m.Change == nil || m.Change.Op != event.Insert {
		t.Errorf("%+v, %v", m, err)
	}
}

// What is told of a row shares memory with the next record's, but not with
// another part of its own.
func TestPartsAreApart(t *testing.T) {
	d := handDecoder(t)
	value := `{"op":"u","before":{"id":1,"email":"\u00fc1"},"after":{"id":1,"email":"\u00fc2"},` + users + `}`
	for range 3 {
		m, err := d.Decode("t", []byte(`{"id":1,"email":"\u00fc2"}`), []byte(value))
		if got := meaning(d.options.Catalog, m, err); !strings.HasSuffix(got, `"u:1" "mail:ü1" "mail:ü2"`) {
			t.Fatal(got)
		}
	}
}
