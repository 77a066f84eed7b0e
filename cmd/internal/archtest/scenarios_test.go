package archtest

import (
	"go/ast"
	"os"
	"regexp"
	"testing"
)

// What the list of scenarios says is shown by a test is shown by one that
// exists.
func TestScenariosNameTests(t *testing.T) {
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(dir + "/testdata/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, f := range tree(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test && fn.Recv == nil {
				tests[f.folder()+" "+fn.Name.Name] = true
			}
		}
	}
	named := regexp.MustCompile("`([a-z0-9/]+ Test\\w+)(?:/(\\w+))?`").FindAllStringSubmatch(string(text), -1)
	if len(named) == 0 {
		t.Fatal("no test is named")
	}
	for _, n := range named {
		if !tests[n[1]] {
			t.Errorf("there is no test %s", n[1])
		}
		if n[2] == "" {
			continue
		}
		if _, err := os.Stat(dir + "/cdc/testdata/" + n[2] + ".txt"); err != nil {
			t.Errorf("%s has no story %s", n[1], n[2])
		}
	}
}
