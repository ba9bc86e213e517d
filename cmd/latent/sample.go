package main

import (
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/latent-go/latent/data"
)

type sampleCommand struct {
	Saved string `arg:"" name:"model" placeholder:"MODEL.json" help:"Model saved by latent fit --out."`
	Rows  int    `name:"rows" short:"n" required:"" placeholder:"N" help:"Rows to draw."`
	Seed  uint64 `default:"1" help:"Seed."`
	Out   string `placeholder:"FILE" help:"Write here instead of to standard output, which is also -."`
}

// Run writes rows drawn from the model as CSV, under the names of its columns.
func (c *sampleCommand) Run(s *session) error {
	if c.Rows < 1 {
		return misused("-n is %d: it must be at least 1", c.Rows)
	}
	m, err := readModel(c.Saved)
	if err != nil {
		return err
	}
	if err := s.checkOut(c.Out, c.Saved); err != nil {
		return err
	}
	return s.emit(c.Out, func(w io.Writer) error { return c.draw(s, m, w) })
}

func (c *sampleCommand) draw(s *session, m *modelFile, w io.Writer) error {
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	names := m.Columns
	for first := 0; first < c.Rows; first += blockRows {
		if s.Err() != nil {
			return fmt.Errorf("interrupted after %d of %d rows", first, c.Rows)
		}
		n := min(blockRows, c.Rows-first)
		x, err := m.Params.Sample(n, rng)
		if err != nil {
			return err
		}
		if err := data.WriteCSV(w, names, x.RawMatrix().Data, n, m.Params.D); err != nil {
			return err
		}
		names = nil
	}
	return nil
}
