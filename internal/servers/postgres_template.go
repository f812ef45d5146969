package servers

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// clusterFlags say what every cluster is like.
func clusterFlags() []string {
	locale := "C.UTF-8"
	if runtime.GOOS == "darwin" { // which has it since version 15 only
		locale = "C"
	}
	return []string{"--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=" + locale}
}

// unpackTemplate makes a new cluster in p.data(). initdb takes a second, so its result is kept in the user's cache as one
// file per PostgreSQL build, which every test process uses. One file, because it is there completely or not at all, which
// holds for no folder that a cleaner of old files walks through.
func (p *Postgres) unpackTemplate() error {
	template, err := templatePath(p.bin)
	if err != nil {
		return err
	}
	file, err := os.Open(template)
	if errors.Is(err, os.ErrNotExist) {
		if err := p.makeTemplate(template); err != nil {
			return fmt.Errorf("make a template cluster: %w", err)
		}
		file, err = os.Open(template)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return unpack(file, p.data(), p.account)
}

func templatePath(bin string) (string, error) {
	build, err := os.Stat(filepath.Join(bin, "initdb"))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil { // HOME is not set
		cache = os.TempDir()
	}
	key := sha256.Sum256(fmt.Append(nil, bin, build.Size(), build.ModTime().UnixNano(), clusterFlags()))
	folder := fmt.Sprintf("tenure-tests-%d", os.Geteuid()) // the temporary folder is everybody's
	return filepath.Join(cache, folder, fmt.Sprintf("postgres-%x.tar", key[:8])), nil
}

// makeTemplate lets initdb make a cluster and keeps it. Two processes may do so at once; the later one replaces the same.
func (p *Postgres) makeTemplate(path string) (err error) {
	made := filepath.Join(p.dir, "template")
	defer func() { err = errors.Join(err, os.RemoveAll(made)) }()
	initdb := p.Program("initdb", append(clusterFlags(), "-D", made)...)
	initdb.Dir = p.dir
	p.account.run(initdb)
	if _, err := run(initdb, nil); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // after the rename it is not there
	if err := errors.Join(pack(file, made), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// cleanEnviron is our environment without what PostgreSQL's programs would take from it.
func cleanEnviron() []string {
	var clean []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "LC_") && !strings.HasPrefix(variable, "LANG") {
			clean = append(clean, variable)
		}
	}
	return append(clean, "LC_ALL=C.UTF-8")
}
