package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// What can be known of docker-compose.yml without an engine; where one is,
// testdata/compose/verify.sh runs it.
func TestComposeFile(t *testing.T) {
	const dir = "../../.."
	text, err := os.ReadFile(filepath.Join(dir, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Image       string
			Restart     string
			Ports       []string
			Volumes     []string
			Healthcheck any
			Memory      string                                `yaml:"mem_limit"`
			DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		}
		Volumes map[string]any
	}
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.AllowDuplicateMapKey()); err != nil {
		t.Fatal(err)
	}
	if len(file.Services) < 7 {
		t.Fatalf("%d services: %v", len(file.Services), file.Services)
	}
	pinned := regexp.MustCompile(`^[a-z./-]+:v?\d+\.\d+`)
	for name, s := range file.Services {
		bad := func(format string, args ...any) { t.Errorf(name+": "+format, args...) }
		if s.Image != "freshet" && !pinned.MatchString(s.Image) {
			bad("the image %s has no version", s.Image)
		}
		if s.Restart == "" || s.Memory == "" {
			bad("restart is %q, mem_limit %q", s.Restart, s.Memory)
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:${PORT_") {
				bad("the port %s is not of this machine alone, or cannot be moved", p)
			}
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, named := file.Volumes[from]; named {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, from)); err != nil || !strings.HasSuffix(v, ":ro") {
				bad("the volume %s: %v", v, err)
			}
		}
		for on, d := range s.DependsOn {
			other, ok := file.Services[on]
			if !ok || d.Condition == "service_healthy" && other.Healthcheck == nil {
				bad("waits for %s to be %s, which it cannot tell", on, fmt.Sprint(d.Condition))
			}
		}
	}
}
