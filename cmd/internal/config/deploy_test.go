package config

import (
	"os"
	"path/filepath"
	"testing"
)

// What docker-compose.yml, Kubernetes and systemd are given is understood.
func TestConfigurationsOfDeploymentsLoad(t *testing.T) {
	vars := map[string]string{
		"HOSTNAME": "node-1", "POD_NAME": "freshet-0",
		"DATABASE_URL": "postgres://a", "TIER_KEY": "sixteen bytes or more", "SHOP_PASSWORD": "s3same",
	}
	var files []string
	for _, pattern := range []string{"compose/freshet.yaml", "compose/*/freshet.yaml", "deploy/base/freshet.yaml", "deploy/overlays/*/freshet.yaml"} {
		found, err := filepath.Glob(filepath.Join("../../../testdata", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(f, data, env(vars)); err != nil {
			t.Error(err)
		}
	}
}
