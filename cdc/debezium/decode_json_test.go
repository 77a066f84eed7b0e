package debezium

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// walked collects an object's members by the walk.
func walked(raw []byte) (members map[string]string, ok bool) {
	members = map[string]string{}
	o := objectOf(raw)
	for o.next() {
		members[string(o.name)] = string(o.value)
	}
	return members, !o.bad
}

func TestObject(t *testing.T) {
	for raw, want := range map[string]map[string]string{
		`{}`:                              {},
		" { \n} ":                         {},
		`{"a":1}`:                         {"a": "1"},
		`{"a": -0.5e+3 , "b" :"x,}\"y"}`:  {"a": "-0.5e+3", "b": `"x,}\"y"`},
		`{"a":{"b":[1,{},[]]},"c":null}`:  {"a": `{"b":[1,{},[]]}`, "c": "null"},
		`{"a":true,"a":false}`:            {"a": "false"},
		`{"\u0061\n":"\ud83d\ude00 \/ü"}`: {`\u0061\n`: `"\ud83d\ude00 \/ü"`},
	} {
		got, ok := walked([]byte(raw))
		if !ok || len(got) != len(want) {
			t.Errorf("%s: %v, %v", raw, got, ok)
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %s", raw, name, got[name])
			}
		}
	}
}

func TestNoObject(t *testing.T) {
	for _, raw := range []string{
		``, ` `, `[]`, `1`, `"a"`, `null`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{a:1}`, `{"a":1}}`, `{"a":1} 2`,
		`{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":-}`, `{"a":+1}`, `{"a":tru}`, `{"a":nul}`, `{"a":NaN}`, `{"a":[1,]}`, `{"a":[1}`, `{"a":{"b"}}`,
		"{\"a\":\"\n\"}", `{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":"\u12`, `{"a":"\`, `{"a":"`,
		`{"a":` + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1) + `}`,
	} {
		if got, ok := walked([]byte(raw)); ok {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

func TestText(t *testing.T) {
	for raw, want := range map[string]string{
		`""`:                   "",
		`"a b"`:                "a b",
		`"\"\\\/\b\f\n\r\t"`:   "\"\\/\b\f\n\r\t",
		`"ü\u00fc\u0000�"`:     "üü\x00\ufffd",
		`"\uD83D\uDE00\ufffd"`: "😀\ufffd",
	} {
		got, ok := appendText(nil, []byte(raw))
		if !ok || string(got) != want {
			t.Errorf("%s: %q, %v", raw, got, ok)
		}
	}
	for _, raw := range []string{`"\ud83d"`, `"\ude00\ud83d"`, `"\ud83d\u0061"`, `"\ud83dxu1234"`, "\"\xff\"", "\"\xed\xa0\x80\""} {
		if got, ok := appendText(nil, []byte(raw)); ok {
			t.Errorf("%s: %q", raw, got)
		}
	}
}

// FuzzObject: the walk accepts what encoding/json does, and finds the same. It
// is stricter in two things: depth, and what is text.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[1,{"b":"\u00fc"}],"c":-1.5e3}`, `{"a":1}}`, `{"a":"\ud83d"}`, `[{}]`, ` { "a" : null , "b":true } `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := walked(raw)
		var want map[string]json.RawMessage
		valid := json.Unmarshal(raw, &want) == nil && want != nil
		if ok && !valid {
			t.Fatalf("accepted: %q", raw)
		}
		if !ok {
			if valid && bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) < maxDepth {
				t.Fatalf("refused: %q", raw)
			}
			return
		}
		for name, value := range got {
			text, isText := appendText(nil, []byte(`"`+name+`"`))
			if !isText || strings.Contains(name, `\`) {
				continue // two names may mean one
			}
			w, found := want[string(text)]
			if !found || len(got) == len(want) && string(w) != value {
				t.Fatalf("%q: %s is %s, not %s", raw, name, value, w)
			}
			if !isString(w) {
				continue
			}
			var said string
			if s, isText := appendText(nil, w); isText && (json.Unmarshal(w, &said) != nil || said != string(s)) {
				t.Fatalf("%q says %q, not %q", w, s, said)
			}
		}
	})
}
