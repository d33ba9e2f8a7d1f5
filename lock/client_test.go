package lock_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/lock"
)

func TestNewClientReadsEachFormOfURL(t *testing.T) {
	t.Parallel()
	one := func(t *testing.T, url string) *redis.Options {
		t.Helper()
		client, err := lock.NewClient(url)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		single, ok := client.(*redis.Client)
		require.True(t, ok)
		return single.Options()
	}
	options := one(t, "redis://ann:s3cret@redis.example:6380/2")
	require.Equal(t, "redis.example:6380", options.Addr)
	require.Equal(t, "ann", options.Username)
	require.Equal(t, "s3cret", options.Password)
	require.Equal(t, 2, options.DB)
	require.Nil(t, options.TLSConfig)
	require.NotNil(t, one(t, "rediss://redis.example").TLSConfig)

	options = one(t, "unix:///run/aisle/redis.sock?db=1")
	require.Equal(t, "unix", options.Network)
	require.Equal(t, "/run/aisle/redis.sock", options.Addr)

	options = one(t, "redis+sentinel://:s3%40cret@a.example,b.example:26380,[::1]:26381/box/3?sentinel_password=other")
	require.Equal(t, "FailoverClient", options.Addr)
	require.Equal(t, "s3@cret", options.Password)
	require.Equal(t, 3, options.DB)
	require.NotNil(t, one(t, "rediss+sentinel://a.example/box").TLSConfig)

	many, err := lock.NewClient("redis+cluster://ann:s3cret@a.example:7000,b.example,[::1]:7002/")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, many.Close()) })
	cluster, ok := many.(*redis.ClusterClient)
	require.True(t, ok)
	require.Equal(t, []string{"a.example:7000", "b.example:6379", "[::1]:7002"}, cluster.Options().Addrs)
	require.Equal(t, "ann", cluster.Options().Username)
	require.Equal(t, "s3cret", cluster.Options().Password)
	require.Equal(t, "1s", cluster.Options().ClusterStateReloadInterval.String())
}

func TestNewClientRefusesOtherURLsWithoutTellingThePassword(t *testing.T) {
	t.Parallel()
	for url, says := range map[string]string{
		"":                                     "no scheme",
		"localhost:6379":                       "no scheme",
		"http://localhost":                     "scheme",
		"redis://ann:s3cret@bad host":          "redis://",
		"redis://ann:s3cret@h:1/x":             "redis://",
		"redis://ann:s3cret/x@h:1":             "%XX",
		"redis+cluster://ann:s3cret/x@h:1":     "host",
		"redis+sentinel://ann:s3cret/x@h:1/m":  "host",
		"ann:s3cret@redis://h:1":               "scheme",
		"redis+sentinel://ann:s3cret@h:1":      "master's name",
		"redis+sentinel://ann:s3cret@h:1/m/x":  "data base's number",
		"redis+sentinel://ann:s3cret@/m":       "host",
		"redis+sentinel://ann:s3cret%zz@h/m":   "password",
		"redis+cluster://ann:s3cret@h:1,/":     "host",
		"redis+cluster://ann:s3cret@h:1/m":     "Cluster",
		"redis+cluster://ann:s3cret@h:port":    "host",
		"redis+cluster://ann:s3cret@h:1?a=%zz": "after ?",
	} {
		_, err := lock.NewClient(url)
		require.Error(t, err, url)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "s3cret")
	}
}
