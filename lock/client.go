package lock

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// The client's settings. A script is safe to run twice, so that a lost reply may be retried; one that
// must not be has its own guard (the projector's is fenced).
const (
	dialTimeout  = 500 * time.Millisecond
	replyTimeout = time.Second
	// stateReload is how often a Cluster client looks at who has which slot without being told by a
	// MOVED, so that a failover is seen in a second and not in a minute.
	stateReload = time.Second
	maxRetries  = 2
)

// NewClient makes the Redis client that the whole server shares. It does not connect: a Redis that is
// away is found out by the first call. Forms of the URL (user, password and what is in brackets may be
// left out; rediss instead of redis means TLS):
//
//	redis://[user:password@]host:port[/db]                                 one server
//	unix://[user:password@]/path/to/redis.sock[?db=N]                      one server, by its socket
//	redis+sentinel://[user:password@]host:port,host:port,…/master[/db]     Sentinels, and the master's name;
//	    [?sentinel_username=…&sentinel_password=…]                         the user is the server's, not the Sentinels'
//	redis+cluster://[user:password@]host:port,host:port,…                  some nodes of a Cluster
//
// A port that is left out is 6379, or 26379 for a Sentinel. Errors never contain the URL: it may carry a
// password.
func NewClient(rawURL string) (redis.UniversalClient, error) {
	dial, err := parseURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("redis url: %w", err)
	}
	return dial(), nil
}

// dialer makes the client that a URL describes.
type dialer func() redis.UniversalClient

// parseURL reads a URL. Its errors quote nothing of it: a password with an unescaped slash, say, would be read as
// something else, and told.
func parseURL(rawURL string) (dialer, error) {
	scheme, _, found := strings.Cut(rawURL, "://")
	if !found {
		return nil, errors.New("no scheme such as redis://")
	}
	switch scheme {
	case "redis", "rediss", "unix":
		return parseSingle(rawURL)
	case "redis+sentinel", "rediss+sentinel":
		return parseSentinel(rawURL)
	case "redis+cluster", "rediss+cluster":
		return parseCluster(rawURL)
	}
	return nil, errors.New("the scheme is none of redis, rediss, unix, redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster")
}

func parseSingle(rawURL string) (dialer, error) {
	options, err := redis.ParseURL(rawURL)
	if err != nil {
		return nil, errors.New("it is not of the form redis://user:password@host:port/db; in user and password, what is neither letter nor digit is written %XX")
	}
	options.DialTimeout = dialTimeout
	options.DialerRetries = 1
	options.ReadTimeout = replyTimeout
	options.WriteTimeout = replyTimeout
	options.ContextTimeoutEnabled = true
	options.MaxRetries = maxRetries
	options.MaintNotificationsConfig = quiet()
	return func() redis.UniversalClient { return redis.NewClient(options) }, nil
}

func parseSentinel(rawURL string) (dialer, error) {
	many, err := parseMany(rawURL, "26379")
	if err != nil {
		return nil, err
	}
	master, db, err := many.masterAndDB()
	if err != nil {
		return nil, err
	}
	options := &redis.FailoverOptions{
		MasterName:            master,
		SentinelAddrs:         many.addrs,
		SentinelUsername:      many.query.Get("sentinel_username"),
		SentinelPassword:      many.query.Get("sentinel_password"),
		Username:              many.username,
		Password:              many.password,
		DB:                    db,
		DialTimeout:           dialTimeout,
		DialerRetries:         1,
		ReadTimeout:           replyTimeout,
		WriteTimeout:          replyTimeout,
		ContextTimeoutEnabled: true,
		MaxRetries:            maxRetries,
	}
	if many.tls {
		options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return func() redis.UniversalClient { return redis.NewFailoverClient(options) }, nil
}

func parseCluster(rawURL string) (dialer, error) {
	many, err := parseMany(rawURL, "6379")
	if err != nil {
		return nil, err
	}
	if many.path != "" {
		return nil, errors.New("a Cluster has neither a master's name nor a data base's number")
	}
	options := &redis.ClusterOptions{
		Addrs:                      many.addrs,
		Username:                   many.username,
		Password:                   many.password,
		DialTimeout:                dialTimeout,
		DialerRetries:              1,
		ReadTimeout:                replyTimeout,
		WriteTimeout:               replyTimeout,
		ContextTimeoutEnabled:      true,
		MaxRedirects:               3,
		MaxRetries:                 maxRetries,
		ClusterStateReloadInterval: stateReload,
		MaintNotificationsConfig:   quiet(),
	}
	if many.tls {
		options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return func() redis.UniversalClient { return redis.NewClusterClient(options) }, nil
}

// quiet turns off the notices of maintenance that only hosted servers send, and the handshake for them.
func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// manyHosts is a URL with several hosts, which net/url does not read.
type manyHosts struct {
	addrs              []string
	username, password string
	path               string
	query              url.Values
	tls                bool
}

func parseMany(rawURL, defaultPort string) (manyHosts, error) {
	scheme, rest, _ := strings.Cut(rawURL, "://")
	many := manyHosts{tls: strings.HasPrefix(scheme, "rediss")}
	rest, query, _ := strings.Cut(rest, "?")
	var err error
	if many.query, err = url.ParseQuery(query); err != nil {
		return manyHosts{}, errors.New("the part after ? can't be read")
	}
	authority, path, _ := strings.Cut(rest, "/")
	many.path = strings.TrimSuffix(path, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, password, _ := strings.Cut(authority[:at], ":")
		authority = authority[at+1:]
		many.username, err = url.PathUnescape(user)
		if err == nil {
			many.password, err = url.PathUnescape(password)
		}
		if err != nil {
			return manyHosts{}, errors.New("user or password can't be read")
		}
	}
	for host := range strings.SplitSeq(authority, ",") {
		addr, err := hostPort(host, defaultPort)
		if err != nil {
			return manyHosts{}, err
		}
		many.addrs = append(many.addrs, addr)
	}
	return many, nil
}

// hostPort reads one host with or without its port, through net/url so that IPv6 in brackets is
// understood and all else refused.
func hostPort(host, defaultPort string) (string, error) {
	one, err := url.Parse("redis://" + host)
	if err != nil || one.Hostname() == "" || one.User != nil || one.Path != "" || one.RawQuery != "" || one.Fragment != "" {
		return "", errors.New("a host can't be read")
	}
	port := one.Port()
	if port == "" {
		port = defaultPort
	}
	return net.JoinHostPort(one.Hostname(), port), nil
}

// masterAndDB reads the path of a Sentinel URL: the master's name, and perhaps a data base's number.
func (m manyHosts) masterAndDB() (master string, db int, err error) {
	name, number, hasDB := strings.Cut(m.path, "/")
	if name == "" {
		return "", 0, errors.New("the master's name is missing (redis+sentinel://host:port,host:port/master)")
	}
	if master, err = url.PathUnescape(name); err != nil {
		return "", 0, errors.New("the master's name can't be read")
	}
	if !hasDB {
		return master, 0, nil
	}
	if db, err = strconv.Atoi(number); err != nil || db < 0 {
		return "", 0, errors.New("the data base's number can't be read")
	}
	return master, db, nil
}
