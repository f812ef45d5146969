package redislock

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// target is what a URL names.
type target struct {
	option  rueidis.ClientOption
	address string // for people: without credentials
	cluster bool
}

// dialPatience bounds the opening of one connection.
const dialPatience = 5 * time.Second

// sentinelPeriod is how often Sentinels are asked for the primary. They also tell it when it changes, but one such message that is
// lost would leave a session at the old primary, which stays alive as a replica.
const sentinelPeriod = 5 * time.Second

// ErrURL says that a URL can never be right. The text says what would be, and does not repeat the URL.
var ErrURL = errors.New("not a URL of Redis")

func wrongURL(format string, args ...any) error {
	return fmt.Errorf("redislock: %w: "+format, append([]any{ErrURL}, args...)...)
}

// parseURL reads a URL, and the settings of Tenure's in it where opts leaves them at zero.
func parseURL(text string, opts Options) (target, Options, error) {
	u, err := url.Parse(text)
	if err != nil { // which repeats the URL
		return target{}, opts, wrongURL("it cannot be read; redis://host:6379/0 is right")
	}
	if opts, err = settings(u, opts); err != nil {
		return target{}, opts, err
	}
	to, err := targetOf(u)
	return to, opts, err
}

// settings takes Tenure's own settings out of a URL.
func settings(u *url.URL, opts Options) (Options, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return opts, wrongURL("what follows its question mark cannot be read")
	}
	for name, values := range query {
		value := values[len(values)-1]
		switch {
		case name == "tenure_grace":
			grace, err := time.ParseDuration(value)
			if err != nil || grace < 0 {
				return opts, wrongURL("tenure_grace=%s; a duration as 5s is right, or 0s for none", value)
			}
			if grace == 0 {
				grace = -1
			}
			if opts.Grace == 0 {
				opts.Grace = grace
			}
		case name == "tenure_prefix":
			if opts.Prefix == "" {
				opts.Prefix = value
			}
		case strings.HasPrefix(name, "tenure_"):
			return opts, wrongURL("nobody knows the setting %s; tenure_grace and tenure_prefix are right", name)
		default:
			continue
		}
		delete(query, name)
	}
	u.RawQuery = query.Encode()
	return opts, nil
}

// targetOf reads the rest.
func targetOf(u *url.URL) (to target, err error) {
	scheme, kind, _ := strings.Cut(u.Scheme, "+")
	tls := scheme == "rediss"
	if scheme != "redis" && !tls || kind != "" && kind != "sentinel" && kind != "cluster" {
		return to, wrongURL("nobody knows the scheme %q; redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster or rediss+cluster is right", u.Scheme)
	}
	port := "6379"
	if kind == "sentinel" {
		port = "26379"
	}
	hosts, err := hostsOf(u.Host, port)
	if err != nil {
		return to, err
	}
	// The client library reads users, passwords, TLS and databases; hosts are ours, since a URL has but one.
	plain := *u
	plain.Scheme, plain.Host = scheme, hosts[0]
	master := ""
	if kind == "sentinel" {
		if master, plain.Path, _ = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/"); master == "" {
			return to, wrongURL("a URL of Sentinels names the primary they watch: redis+sentinel://a,b,c/mymaster")
		}
		if plain.Path != "" {
			plain.Path = "/" + plain.Path
		}
	}
	if to.option, err = rueidis.ParseURL(plain.String()); err != nil {
		return to, wrongURL("%s", strings.TrimPrefix(err.Error(), "redis: "))
	}
	to.option.InitAddress = hosts
	to.option.Dialer.Timeout = dialPatience
	to.option.DisableCache, to.option.DisableRetry = true, true
	to.option.PipelineMultiplex = -1 // one connection, so that batches form
	to.option.ClientName = "tenure"
	to.address = kindOf(kind) + strings.Join(hosts, ",")
	switch kind {
	case "sentinel":
		to.option.Sentinel.MasterSet = master
		to.option.Sentinel.TLSConfig = to.option.TLSConfig
		to.option.Sentinel.TopologyRefreshInterval = sentinelPeriod
		to.address += "/" + master
	case "cluster":
		to.cluster = true
		to.option.PipelineMultiplex = 0
		to.option.ShuffleInit = true
		if to.option.SelectDB != 0 {
			return to, wrongURL("database %d; a Cluster has database 0 only", to.option.SelectDB)
		}
	default:
		to.option.ForceSingleClient = true
		if len(hosts) > 1 {
			return to, wrongURL("%d hosts; redis:// names one, redis+sentinel:// and redis+cluster:// several", len(hosts))
		}
	}
	return to, nil
}

func kindOf(kind string) string {
	if kind == "" {
		return "redis "
	}
	return "redis " + kind + " "
}

// hostsOf reads a list of hosts, with a port where they have none.
func hostsOf(list, port string) (hosts []string, err error) {
	for host := range strings.SplitSeq(list, ",") {
		if host == "" {
			return nil, wrongURL("an empty host; redis://host:6379/0 is right")
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}
