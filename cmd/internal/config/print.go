package config

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// PrintDefaults writes the reference of all settings: a YAML file that sets
// each to its default and says beside it what it means. What has no default
// stands there as a comment.
func PrintDefaults(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("# Every setting of freshet, with its default. A setting that is left out has it.\n")
	b.WriteString("# Commented settings have none.\n")
	printStruct(&b, reflect.TypeFor[Config](), "", "")
	_, err := w.Write(b.Bytes())
	return err
}

// printStruct prints the settings of t. prefix is "# " inside what is shown as
// an example only.
func printStruct(b *bytes.Buffer, t reflect.Type, prefix, indent string) {
	for i := range names(t) {
		f := t.Field(i)
		name, doc := f.Tag.Get("yaml"), f.Tag.Get("doc")
		if indent == "" {
			b.WriteString("\n")
		}
		_, scalar := scalarName(reflect.Zero(f.Type))
		switch {
		case isList(f.Type):
			fmt.Fprintf(b, "%s# %s\n%s# %s:\n", indent, doc, indent, name)
			item := &bytes.Buffer{}
			printStruct(item, f.Type.Elem(), "# ", indent+"    ")
			b.WriteString(strings.Replace(item.String(), "# "+indent+"    ", "# "+indent+"  - ", 1))
		case f.Type.Kind() == reflect.Struct && !scalar:
			fmt.Fprintf(b, "%s%s%s: # %s\n", prefix, indent, name, doc)
			printStruct(b, f.Type, prefix, indent+"  ")
		default:
			value, ok := f.Tag.Lookup("default")
			line := fmt.Sprintf("%s%s: %s", indent, name, value)
			if !ok && prefix == "" {
				line = fmt.Sprintf("%s# %s:", indent, name)
			}
			fmt.Fprintf(b, "%s%-34s # %s%s\n", prefix, line, doc, limits(f.Tag))
		}
	}
}

// isList reports whether a setting is a list of mappings.
func isList(t reflect.Type) bool {
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Struct {
		return false
	}
	_, scalar := scalarName(reflect.Zero(t.Elem()))
	return !scalar
}

func limits(tag reflect.StructTag) string {
	if choices := tag.Get("enum"); choices != "" {
		return " One of " + strings.ReplaceAll(choices, ",", ", ") + "."
	}
	low, high := tag.Get("min"), tag.Get("max")
	switch {
	case low != "" && high != "":
		return fmt.Sprintf(" From %s to %s.", low, high)
	case low != "" && strings.Trim(low, "0s") != "":
		return fmt.Sprintf(" At least %s.", low)
	}
	return ""
}
