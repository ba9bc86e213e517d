// Command service answers over HTTP what a model that latent fit --out wrote says of rows. It takes JSON, has limits on
// what it takes, loads the file anew when it has changed, tells Prometheus how it does, and ends gracefully:
//
//	latent fit --data iris --out model.json
//	service -model model.json
//	curl localhost:8080/score -d '{"rows":[[5.1,3.5,1.4,0.2]]}'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// settings are the flags.
type settings struct {
	model, address string
	reload, grace  time.Duration
	body           int64
	rows           int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

// run serves until the context is done, and then what it has begun.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.model, "model", "", "file that latent fit --out wrote")
	flags.StringVar(&s.address, "address", "localhost:8080", "where to listen")
	flags.DurationVar(&s.reload, "reload", 5*time.Second, "how often to see whether the file has changed")
	flags.DurationVar(&s.grace, "grace", 10*time.Second, "how long requests that have begun may take at the end")
	flags.Int64Var(&s.body, "body", 1<<20, "largest body of a request, in bytes")
	flags.IntVar(&s.rows, "rows", 1000, "most rows of a request")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0 || s.model == "":
		return errors.New("give the file of a model by -model, and nothing but flags")
	case s.reload <= 0 || s.grace <= 0 || s.body < 1 || s.rows < 1:
		return errors.New("-reload, -grace, -body and -rows must be positive")
	}
	notes := log.New(stderr, "service: ", log.LstdFlags)
	store := &models{path: s.model, metrics: newMetrics()}
	if err := store.load(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	notes.Printf("listening on %s with the model %s", l.Addr(), store.now().checksum)
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		store.watch(watching, s.reload, notes)
	}()
	err = serve(ctx, l, newHandler(store, s), s.grace, notes)
	stop()
	<-watched
	return err
}

// serve answers on l until the context is done, and then gives requests that have begun a time to end.
func serve(ctx context.Context, l net.Listener, h http.Handler, grace time.Duration, notes *log.Logger) error {
	server := &http.Server{
		Handler: h, ErrorLog: notes, MaxHeaderBytes: 1 << 16,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	notes.Print("ending: no new requests, and those that have begun are answered")
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		return errors.Join(fmt.Errorf("requests were cut off after %v: %w", grace, err), server.Close())
	}
	return nil
}
