package framework

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"

	"github.com/latent-go/latent/pruning"
)

// A manifest says which fit a checkpoint belongs to: everything that decides the
// bits of its outcome, except the data themselves and MaxIterations, which may differ.
type manifest struct {
	Version    int
	Model      string
	Method     string
	Criterion  string
	Temper     float64
	K          int
	FixedK     bool
	Accelerate bool
	NoMoves    bool
	DoubleTo   int
	Tolerance  float64
	Restarts   int
	Seed       uint64
	Shards     int
	Rows       int
	Prune      pruning.Rules
}

const checkpointVersion = 4

func (f *fit[B, P, S]) manifest() manifest {
	o := f.options
	return manifest{checkpointVersion, f.identity(), o.Method.String(), o.Criterion.Name, o.Temper, o.K, o.FixedK, o.Accelerate, o.NoMoves, o.DoubleTo, o.Tolerance, o.Restarts, o.Seed, o.Shards, f.src.Rows(), o.Prune}
}

// identity is the model's type and, where they can be written down, its settings.
func (f *fit[B, P, S]) identity() string {
	settings, err := json.Marshal(f.model)
	if err != nil {
		settings = nil
	}
	return fmt.Sprintf("%T %s", f.model, settings)
}

// encode writes the manifest and the progress of every run; the lock makes it that between two
// iterations.
func (f *fit[B, P, S]) encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := gob.NewEncoder(&buf)
	if err := enc.Encode(f.manifest()); err != nil {
		return nil, fmt.Errorf("framework: checkpoint: %w", err)
	}
	if err := enc.Encode(len(f.runs)); err != nil {
		return nil, fmt.Errorf("framework: checkpoint: %w", err)
	}
	for _, r := range f.runs {
		r.mu.Lock()
		err := enc.Encode(&r.at)
		r.mu.Unlock()
		if err != nil {
			return nil, fmt.Errorf("framework: checkpoint: %w", err)
		}
	}
	return buf.Bytes(), nil
}

func (f *fit[B, P, S]) decode(checkpoint []byte, saved *[]progress[P, S]) error {
	dec := gob.NewDecoder(bytes.NewReader(checkpoint))
	var m manifest
	if err := dec.Decode(&m); err != nil {
		return fmt.Errorf("framework: not a checkpoint, or a truncated one: %w", err)
	}
	if want := f.manifest(); m != want {
		return fmt.Errorf("framework: the checkpoint belongs to another fit: it holds %+v, the options say %+v", m, want)
	}
	var runs int
	if err := dec.Decode(&runs); err != nil {
		return fmt.Errorf("framework: truncated checkpoint: %w", err)
	}
	*saved = make([]progress[P, S], runs)
	for i := range *saved {
		if err := dec.Decode(&(*saved)[i]); err != nil {
			return fmt.Errorf("framework: truncated checkpoint: run %d of %d: %w", i+1, len(*saved), err)
		}
	}
	return nil
}
