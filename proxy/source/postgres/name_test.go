package postgres

import (
	"testing"
)

func TestParseName(t *testing.T) {
	for _, test := range []struct {
		text, schema, table, spelled, sql string
	}{
		{"users", "public", "users", "users", `"public"."users"`},
		{"public.users", "public", "users", "users", `"public"."users"`},
		{"shop.Users", "shop", "Users", "shop.Users", `"shop"."Users"`},
		{`"a.b"`, "public", "a.b", `"a.b"`, `"public"."a.b"`},
		{`s."a""b"`, "s", `a"b`, `s."a""b"`, `"s"."a""b"`},
		{`"s".t`, "s", "t", "s.t", `"s"."t"`},
	} {
		n, err := ParseName(test.text)
		if err != nil || n.Schema != test.schema || n.Table != test.table || n.String() != test.spelled || n.SQL() != test.sql {
			t.Errorf("%s: got %+v, %s, %s, %v", test.text, n, n, n.SQL(), err)
		}
	}
	for _, text := range []string{"", ".", "a.", ".a", "a.b.c", `"a`, `"a"b`, `""`, `a."b"c`, "a..b"} {
		if n, err := ParseName(text); err == nil {
			t.Errorf("%q is taken for %+v", text, n)
		}
	}
}

// A name has one spelling, and that is read back as the same name.
func FuzzParseName(f *testing.F) {
	f.Add("users")
	f.Add(`"a.b"."c""d"`)
	f.Add("a.b")
	f.Add(`a"b.c`)
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseName(text)
		if err != nil {
			return
		}
		again, err := ParseName(n.String())
		if err != nil || again != n {
			t.Errorf("%q is %+v, spelled %q, which is %+v, %v", text, n, n, again, err)
		}
		if n.Table == "" || n.Schema == "" {
			t.Errorf("%q is a name without a part", text)
		}
	})
}
