package pglock

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ParseURL reads a URL or a keyword/value string for [New] and [Migrate], as [Open] does: pgx.ParseConfig, and the settings
// of Tenure's in it taken over into the options.
//
// Its errors never repeat the URL or a password. They are mistakes in the URL, but for those that match [fs.PathError]: a file
// that the URL names, such as a certificate, cannot be read.
func ParseURL(url string, opts Options) (*pgx.ConnConfig, Options, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, opts, readError(err)
	}
	// A password with an @ in it ends at the first one, and the rest of it would be looked up as a host, for all to see.
	for _, host := range append([]string{config.Host}, fallbackHosts(config)...) {
		if strings.Contains(host, "@") && !strings.HasPrefix(host, "/") && !strings.HasPrefix(host, "@") {
			return nil, opts, errors.New("pglock: there is an @ in the host; " + escapes)
		}
	}
	opts, err = opts.fromURL(config.RuntimeParams)
	return config, opts, err
}

func fallbackHosts(config *pgx.ConnConfig) (hosts []string) {
	for _, f := range config.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	return hosts
}

const escapes = "in a password / @ : ? # % are written %2F %40 %3A %3F %23 %25"

// readError says what is wrong with a URL and leaves out what stands in it. Where it could not be taken apart, pgx's own words
// may quote a password that has gone astray.
func readError(err error) error {
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		return fmt.Errorf("pglock: a file that the URL names: %w", file)
	}
	said := err.Error()
	if i := strings.LastIndex(said, "`: "); i >= 0 {
		said = said[i+len("`: "):]
	}
	switch {
	case strings.HasPrefix(said, "failed to parse as URL"):
		said, _, _ = strings.Cut(strings.TrimSuffix(strings.TrimPrefix(said, "failed to parse as URL ("), ")"), ": ")
		return fmt.Errorf("pglock: the URL cannot be read: %s; %s", said, escapes)
	case strings.HasPrefix(said, "failed to parse as keyword/value"):
		return errors.New("pglock: this is neither a URL (postgres://user@host:5432/database) nor a keyword/value string " +
			"(host=… user=… dbname=…)")
	case strings.HasPrefix(said, "invalid port"), strings.HasPrefix(said, "could not match"):
		return fmt.Errorf("pglock: %s: a port is a number behind the host; %s", said, escapes)
	}
	return fmt.Errorf("pglock: %s", said)
}
