package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// bounds are the upper ends of the histogram of times, in seconds.
var bounds = []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10}

// metrics are counted from the start on.
type metrics struct {
	loads, failures, rows atomic.Uint64
	running               atomic.Int64

	sync.Mutex                      // of what follows
	requests   map[outcome]uint64   //
	times      map[string]*duration // by pattern
}

// An outcome is what requests are counted by.
type outcome struct {
	pattern string
	status  int
}

// A duration is a histogram of times.
type duration struct {
	counts []uint64 // of each of the bounds, and beyond
	sum    float64
}

func newMetrics() *metrics {
	return &metrics{requests: map[outcome]uint64{}, times: map[string]*duration{}}
}

// A recorder knows the status that was written.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// count counts the requests that next answers, by patterns: paths that are none would let a client make as many series
// as it wants.
func (m *metrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.running.Add(1)
		defer m.running.Add(-1)
		began, seen := time.Now(), &recorder{w, http.StatusOK}
		next.ServeHTTP(seen, r)
		pattern := r.Pattern
		if pattern == "" {
			pattern = "none"
		}
		m.add(outcome{pattern, seen.status}, time.Since(began).Seconds())
	})
}

func (m *metrics) add(o outcome, seconds float64) {
	m.Lock()
	defer m.Unlock()
	m.requests[o]++
	d := m.times[o.pattern]
	if d == nil {
		d = &duration{counts: make([]uint64, len(bounds)+1)}
		m.times[o.pattern] = d
	}
	at, _ := slices.BinarySearch(bounds, seconds)
	d.counts[at]++
	d.sum += seconds
}

// exposition writes what Prometheus reads, in the text format of version 0.0.4.
func (h *handler) exposition(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(h.metrics.text(h.now().checksum)))
}

func (m *metrics) text(checksum string) string {
	var b strings.Builder
	family := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	family("latent_model_info", "gauge", "The SHA-256 of the file that answers.")
	fmt.Fprintf(&b, "latent_model_info{sha256=%q} 1\n", checksum)
	family("latent_model_loads_total", "counter", "Files that were loaded.")
	fmt.Fprintf(&b, "latent_model_loads_total %d\n", m.loads.Load())
	family("latent_model_load_failures_total", "counter", "Files that could not be loaded.")
	fmt.Fprintf(&b, "latent_model_load_failures_total %d\n", m.failures.Load())
	family("latent_rows_total", "counter", "Rows that were scored.")
	fmt.Fprintf(&b, "latent_rows_total %d\n", m.rows.Load())
	family("latent_requests_running", "gauge", "Requests that are being answered.")
	fmt.Fprintf(&b, "latent_requests_running %d\n", m.running.Load())

	m.Lock()
	defer m.Unlock()
	var lines []string
	for o, n := range m.requests {
		lines = append(lines, fmt.Sprintf("latent_requests_total{handler=%q,code=\"%d\"} %d\n", o.pattern, o.status, n))
	}
	slices.Sort(lines)
	family("latent_requests_total", "counter", "Requests that were answered.")
	b.WriteString(strings.Join(lines, ""))
	family("latent_request_seconds", "histogram", "Time from the head of a request to its answer.")
	var patterns []string
	for pattern := range m.times {
		patterns = append(patterns, pattern)
	}
	slices.Sort(patterns)
	for _, pattern := range patterns {
		d, n := m.times[pattern], uint64(0)
		for i, bound := range bounds {
			n += d.counts[i]
			fmt.Fprintf(&b, "latent_request_seconds_bucket{handler=%q,le=\"%v\"} %d\n", pattern, bound, n)
		}
		n += d.counts[len(bounds)]
		fmt.Fprintf(&b, "latent_request_seconds_bucket{handler=%q,le=\"+Inf\"} %d\n", pattern, n)
		fmt.Fprintf(&b, "latent_request_seconds_sum{handler=%q} %v\n", pattern, d.sum)
		fmt.Fprintf(&b, "latent_request_seconds_count{handler=%q} %d\n", pattern, n)
	}
	return b.String()
}
