package rows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/cmd/aislebench/measure"
	"github.com/aislehq/aisle/cmd/aislebench/rivals"
)

const (
	// readers is how many clients read; readSeats is how many seats the map has.
	readers, readSeats = 32, 300
	// perCore is requests for each second of a core that the server and the stores used.
	perCore measure.Figure = "per core"
)

// Reading is the row of the seat map by HTTP.
func Reading(ctx context.Context, b *Bench) (report measure.Report, err error) {
	h := newHouse(1, readSeats)
	url, err := b.database(ctx, "aisle")
	if err != nil {
		return measure.Report{}, err
	}
	if err := onSale(ctx, url, h); err != nil {
		return measure.Report{}, err
	}
	own, err := b.serveAisle(ctx, url, fmt.Sprintf("read%d", b.databases))
	if err != nil {
		return measure.Report{}, err
	}
	defer func() { err = errors.Join(err, own.stop()) }()
	body, tag, err := fetch(ctx, "http://"+own.address+"/api/v1/showings/"+h.Showings[0].String()+"/seats")
	if err != nil {
		return measure.Report{}, err
	}
	reader, err := b.reader(ctx, h, body)
	if err != nil {
		return measure.Report{}, err
	}
	defer func() { err = errors.Join(err, reader.stop()) }()
	showing := h.Showings[0].String()
	results, err := measure.Alternate(ctx, b.rounds(), []measure.Contestant{
		b.read(ours, own, "/api/v1/showings/"+showing+"/seats", "", http.StatusOK),
		b.read("Redis each time", reader, "/redis/"+showing, "", http.StatusOK),
		b.read("PostgreSQL each time", reader, "/postgres/"+showing, "", http.StatusOK),
		b.read("nothing, 200", reader, "/nothing", "", http.StatusOK),
		b.read(ours+", 304", own, "/api/v1/showings/"+showing+"/seats", "If-None-Match: "+tag+"\r\n", http.StatusNotModified),
		b.read("nothing, 304", reader, "/unchanged", "", http.StatusNotModified),
	})
	if err != nil {
		return measure.Report{}, err
	}
	return measure.Report{
		Title: "Reading a seat map",
		About: fmt.Sprintf(`%d clients, each on a connection that is kept alive, get the map of a showing of %d seats (%d bytes). Aisle answers from memory; the others are chi handlers that
read the finished document from Redis, or the seats' rows from PostgreSQL, each time, or send an empty answer. "Per core-second" is requests for each second of processor time of the server and the stores:
the clients share the machine.`, readers, readSeats, len(body)),
		Tables: []measure.Table{{
			Main: measure.Rate, Results: results,
			Columns: []measure.Column{
				{Title: "requests/s", Figure: measure.Rate},
				{Title: "per core-second", Figure: perCore},
				{Title: "p50", Figure: measure.P50, Unit: measure.Seconds},
				{Title: "p99", Figure: measure.P99, Unit: measure.Seconds},
				{Title: "server", Figure: measure.ServerCPU, Unit: measure.Cores},
				{Title: "PostgreSQL", Figure: measure.PostgresCPU, Unit: measure.Cores},
				{Title: "Redis", Figure: measure.RedisCPU, Unit: measure.Cores},
				{Title: "clients", Figure: measure.SelfCPU, Unit: measure.Cores},
			},
			Ratios: []measure.Ratio{
				{Claim: "requests/s against Redis each time", Value: measure.Against(results[0], results[1], measure.Rate), Goal: 2.3},
				{Claim: "requests/s against PostgreSQL each time", Value: measure.Against(results[0], results[2], measure.Rate), Goal: 6},
				{Claim: "304: requests/s against an empty 304", Value: measure.Against(results[4], results[5], measure.Rate), Goal: 0.9},
				{Claim: "per core-second against Redis each time", Value: measure.Against(results[0], results[1], perCore)},
				{Claim: "per core-second against PostgreSQL each time", Value: measure.Against(results[0], results[2], perCore)},
				{Claim: "304: per core-second against an empty 304", Value: measure.Against(results[4], results[5], perCore)},
			},
		}},
	}, nil
}

// fetch gets a map once, with its ETag.
func fetch(ctx context.Context, url string) (body []byte, tag string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, "", err
	}
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", url, response.Status, body)
	}
	return body, response.Header.Get("ETag"), err
}

// reader starts the server that reads each time, with the same map in both stores.
func (b *Bench) reader(ctx context.Context, h rivals.House, body []byte) (*server, error) {
	url, err := b.database(ctx, "reader")
	if err != nil {
		return nil, err
	}
	if err := b.Stores.Redis().Set(ctx, rivals.MapKey(h.Showings[0]), body, 0).Err(); err != nil {
		return nil, err
	}
	s, err := b.serveRival(ctx, url, "reader")
	if err != nil {
		return nil, err
	}
	rows, err := rivals.All()[0].Open(ctx, url, nil)
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	defer rows.Close()
	if err := rows.Prepare(ctx, h); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (b *Bench) read(name string, s *server, path, header string, want int) measure.Contestant {
	return measure.Contestant{Name: name, Round: func(ctx context.Context) (measure.Sample, error) {
		var wires []*wire
		defer func() {
			for _, w := range wires {
				w.close()
			}
		}()
		for range readers {
			w, err := dial(ctx, s.address)
			if err != nil {
				return nil, err
			}
			wires = append(wires, w)
		}
		return readFor(wires, path, header, want, b.Round)
	}}
}

func readFor(wires []*wire, path, header string, want int, span time.Duration) (measure.Sample, error) {
	sample := measure.Sample{}
	latencies := make([]measure.Histogram, len(wires))
	spent, err := metered(sample, func() error {
		var group errgroup.Group
		end := time.Now().Add(span)
		for i, w := range wires {
			group.Go(func() error {
				for time.Now().Before(end) {
					began := time.Now()
					status, body, err := w.do(http.MethodGet, path, header, nil)
					if err != nil {
						return err
					}
					if status != want {
						return fmt.Errorf("%s: status %d, not %d: %.200s", path, status, want, body)
					}
					latencies[i].Add(time.Since(began))
				}
				return nil
			})
		}
		return group.Wait()
	})
	if err != nil {
		return nil, err
	}
	var latency measure.Histogram
	for i := range latencies {
		latency.Merge(&latencies[i])
	}
	sample[measure.Rate] = float64(latency.Count()) / spent.Seconds()
	if cores := sample[measure.ServerCPU] + sample[measure.PostgresCPU] + sample[measure.RedisCPU]; cores > 0 {
		sample[perCore] = sample[measure.Rate] / cores
	}
	sample.Latency(&latency)
	return sample, nil
}
