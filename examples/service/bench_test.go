package main

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/command"
)

// BenchmarkLoad is the time of a request about one row of three full Gaussians in four columns, from when a client on
// the same machine sends it to the end of its answer: the median and the 99th percentile.
func BenchmarkLoad(b *testing.B) {
	path := filepath.Join(b.TempDir(), "m.json")
	line := "fit --data iris --k 3 --method em --restarts 1 --out " + path
	status := command.Run(b.Context(), command.Host{}, strings.Fields(line), strings.NewReader(""), io.Discard, io.Discard)
	require.Zero(b, status)
	url, _, end := started(b, "-model", path)
	for _, clients := range []int{1, 32} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) { load(b, url, clients) })
	}
	require.NoError(b, end())
}

func load(b *testing.B, url string, clients int) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	var wait sync.WaitGroup
	all := make([][]time.Duration, clients)
	for i := range all {
		wait.Go(func() {
			for range (b.N + clients - 1) / clients {
				began := time.Now()
				body := strings.NewReader(`{"rows":[[5.1,3.5,1.4,0.2]]}`)
				r, err := client.Post(url+"/score", "application/json", body)
				if err != nil {
					b.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, r.Body)
				if r.Body.Close(); err != nil || r.StatusCode != http.StatusOK {
					b.Error(r.Status, err)
					return
				}
				all[i] = append(all[i], time.Since(began))
			}
		})
	}
	wait.Wait()
	times := slices.Sorted(slices.Values(slices.Concat(all...)))
	if b.Failed() {
		return
	}
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(times[len(times)*p/100].Nanoseconds())/1e3, fmt.Sprintf("p%d-µs", p))
	}
}
