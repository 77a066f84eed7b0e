package stack

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// superuser is who PostgreSQL runs as when we are root: it refuses to be root
// itself.
const superuser = "postgres"

func isRoot() bool { return os.Geteuid() == 0 }

// partsDir is where fetched parts are kept.
func partsDir() (string, error) {
	if isRoot() {
		return "/var/cache/freshet", os.MkdirAll("/var/cache/freshet", 0o755)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "freshet")
	return dir, os.MkdirAll(dir, 0o755)
}

// fetched returns the folder of a part, made by fill if it is not there yet.
// It appears whole or not at all, and only one process fills it.
func fetched(name string, fill func(dir string) error) (string, error) {
	parts, err := partsDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parts, name)
	lock, err := os.OpenFile(filepath.Join(parts, name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := exclusive(lock); err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	draft, err := os.MkdirTemp(parts, name+".draft-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(draft)
	if err := os.Chmod(draft, 0o755); err != nil {
		return "", err
	}
	if err := fill(draft); err != nil {
		return "", err
	}
	return dir, os.Rename(draft, dir)
}

// say tells what is done to this machine.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "freshet: "+format+"\n", args...)
}

// command runs a tool, and on an error brings what it has said.
func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w:\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// artifact is something in Maven Central.
type artifact struct{ group, name, version string }

// fromMaven copies artifacts, and what they depend on, into dir.
func fromMaven(ctx context.Context, dir string, artifacts ...artifact) error {
	if _, err := exec.LookPath("mvn"); err != nil {
		return errors.New("mvn is missing: install Maven and a JDK (Debian: apt-get install maven default-jdk-headless)")
	}
	var pom strings.Builder
	pom.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` +
		`<groupId>freshet</groupId><artifactId>parts</artifactId><version>1</version><dependencies>`)
	for _, a := range artifacts {
		say("fetching %s:%s:%s from Maven Central", a.group, a.name, a.version)
		fmt.Fprintf(&pom, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>", a.group, a.name, a.version)
	}
	pom.WriteString("</dependencies></project>\n")
	scratch, err := os.MkdirTemp("", "freshet-maven-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	file := filepath.Join(scratch, "pom.xml")
	if err := os.WriteFile(file, []byte(pom.String()), 0o644); err != nil {
		return err
	}
	return command(ctx, "mvn", "-q", "-B", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory="+dir)
}

// fromPackages installs packages of the distribution.
func fromPackages(ctx context.Context, packages ...string) error {
	how := "apt-get install " + strings.Join(packages, " ")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("install it (on Debian: %s)", how)
	}
	if !isRoot() {
		return fmt.Errorf("install it as root: %s", how)
	}
	say("%s", how)
	if err := command(ctx, "apt-get", "update", "-q"); err != nil {
		return err
	}
	return command(ctx, "env", append([]string{"DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-qy"}, packages...)...)
}

// tool returns the path of a program, installing its package where it is
// missing.
func tool(ctx context.Context, name, pkg string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	if err := fromPackages(ctx, pkg); err != nil {
		return "", fmt.Errorf("%s is missing: %w", name, err)
	}
	return exec.LookPath(name)
}

// unzip copies one file out of a zip or jar.
func unzip(archive, name, to string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer r.Close()
	in, err := r.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
