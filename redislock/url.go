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

// parseURL reads a URL. Errors do not repeat it.
func parseURL(text string) (to target, err error) {
	u, err := url.Parse(text)
	if err != nil {
		var wrong *url.Error
		if errors.As(err, &wrong) {
			err = wrong.Err
		}
		return to, fmt.Errorf("redislock: the URL of the store cannot be read: %w; redis://host:6379/0 is right", err)
	}
	scheme, kind, _ := strings.Cut(u.Scheme, "+")
	tls := scheme == "rediss"
	if scheme != "redis" && !tls || kind != "" && kind != "sentinel" && kind != "cluster" {
		return to, fmt.Errorf("redislock: a store of scheme %q; redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster or rediss+cluster is right", u.Scheme)
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
			return to, errors.New("redislock: a URL of Sentinels names the primary they watch: redis+sentinel://a,b,c/mymaster")
		}
		if plain.Path != "" {
			plain.Path = "/" + plain.Path
		}
	}
	if to.option, err = rueidis.ParseURL(plain.String()); err != nil {
		return to, errors.New("redislock: " + strings.TrimPrefix(err.Error(), "redis: "))
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
		to.address += "/" + master
	case "cluster":
		to.cluster = true
		to.option.PipelineMultiplex = 0
		to.option.ShuffleInit = true
		if to.option.SelectDB != 0 {
			return to, fmt.Errorf("redislock: database %d; a Cluster has database 0 only", to.option.SelectDB)
		}
	default:
		to.option.ForceSingleClient = true
		if len(hosts) > 1 {
			return to, fmt.Errorf("redislock: %d hosts; redis:// names one, redis+sentinel:// and redis+cluster:// several", len(hosts))
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
			return nil, errors.New("redislock: the URL of the store has an empty host; redis://host:6379/0 is right")
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}
