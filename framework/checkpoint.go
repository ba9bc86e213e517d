package framework

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/latent-go/latent/internal/fingerprint"
	"github.com/latent-go/latent/internal/sealed"
	"github.com/latent-go/latent/pruning"
)

// A CheckpointError says why a fit refused [Options].Resume: the checkpoint is damaged, or belongs to another fit,
// other rows or another version.
type CheckpointError struct {
	Reason string // what the checkpoint does, such as "belongs to another fit: …"
}

func (e *CheckpointError) Error() string { return "framework: the checkpoint " + e.Reason }

func refuse(format string, args ...any) error { return &CheckpointError{fmt.Sprintf(format, args...)} }

// A manifest says which fit a checkpoint belongs to: everything that decides the
// bits of its outcome, except MaxIterations, which may differ.
type manifest struct {
	Rows       int
	Data       string // fingerprint of the rows, whose number other entries may follow
	Model      string
	Method     string
	Criterion  string
	Also       string
	Temper     float64
	K          int
	FixedK     bool
	Accelerate bool
	NoMoves    bool
	DoubleTo   int
	Sample     int
	Online     int
	Tolerance  float64
	Restarts   int
	Seed       uint64
	Shards     int
	Prune      pruning.Rules
}

func (f *fit[B, P, S]) manifest() (manifest, error) {
	o := f.options
	data, err := f.fingerprint()
	if err != nil {
		return manifest{}, err
	}
	var also []string
	for _, c := range o.Also {
		also = append(also, c.Name)
	}
	return manifest{f.src.Rows(), data, identity(f.model), o.Method.String(), o.Criterion.Name, strings.Join(also, ","),
		o.Temper, o.K, o.FixedK, o.Accelerate, o.NoMoves, o.DoubleTo, o.Sample, o.Online, o.Tolerance,
		o.Restarts, o.Seed, o.Shards, o.Prune}, nil
}

// differs is an error that names the first of the entries that are others than those of a checkpoint.
func (m manifest) differs(saved manifest) error {
	here, there := reflect.ValueOf(m), reflect.ValueOf(saved)
	for i := range here.NumField() {
		a, b := here.Field(i).Interface(), there.Field(i).Interface()
		if reflect.DeepEqual(a, b) {
			continue
		}
		if name := here.Type().Field(i).Name; name != "Data" {
			return refuse("belongs to another fit: %s is %v in the checkpoint and %v here", name, b, a)
		}
		return refuse("belongs to a fit to other rows: their numbers, weights or order differ")
	}
	return nil
}

// identity is the model's type and, where they can be written down, its settings.
func identity(model any) string {
	settings, err := json.Marshal(model)
	if err != nil {
		settings = nil
	}
	return fmt.Sprintf("%T %s", model, settings)
}

// fingerprintOf is a hash of the blocks of a source, also after the fit was cancelled.
func fingerprintOf[B any](src Source[B]) (string, error) {
	return fingerprint.Of(src.Rows(), src.Blocks(context.Background()))
}

// What a checkpoint may be of.
const (
	ofFit        = "a fit"
	ofSelection  = "a selection"
	ofComparison = "a comparison"
	ofSearch     = "a search"
)

// checkpointMagic begins a checkpoint, and what it is of goes on; the number is that of its format.
const checkpointMagic = "latent checkpoint 7: "

// seal makes a checkpoint of what encode writes.
func seal(of string, encode func(*gob.Encoder) error) ([]byte, error) {
	checkpoint, err := sealed.Encode(checkpointMagic+of, encode)
	if err != nil {
		return nil, fmt.Errorf("framework: checkpoint: %w", err)
	}
	return checkpoint, nil
}

// unseal has decode read what is in a checkpoint, which is whole.
func unseal(of string, checkpoint []byte, decode func(*gob.Decoder) error) error {
	format, _, _ := strings.Cut(checkpointMagic, "7")
	header, values := sealed.Decoder(checkpoint)
	kind, ours := strings.CutPrefix(header, checkpointMagic)
	switch {
	case !strings.HasPrefix(header, format):
		return refuse("does not begin with the header of a checkpoint")
	case !ours:
		return refuse("was written by another version, in another format")
	case values == nil:
		return refuse("is damaged: its checksum is wrong")
	case kind != of:
		return refuse("belongs to %s and cannot resume %s", kind, of)
	}
	if err := decode(values); err != nil {
		return refuse("cannot be read: %v", err)
	}
	return nil
}

// encode writes the manifest and the progress of every run; the lock makes it that between two
// iterations.
func (f *fit[B, P, S]) encode() ([]byte, error) {
	m, err := f.manifest()
	if err != nil {
		return nil, fmt.Errorf("framework: checkpoint: %w", err)
	}
	f.adding.Lock()
	runs := f.runs
	f.adding.Unlock()
	return seal(ofFit, func(enc *gob.Encoder) error {
		if err := errors.Join(enc.Encode(m), enc.Encode(len(runs))); err != nil {
			return err
		}
		for _, r := range runs {
			r.mu.Lock()
			err := enc.Encode(&r.at)
			r.mu.Unlock()
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// decode reads the progress of the runs of a fit that must be this one.
func (f *fit[B, P, S]) decode(checkpoint []byte) (saved []progress[P, S], err error) {
	here, err := f.manifest()
	if err != nil {
		return nil, err
	}
	var other error
	err = unseal(ofFit, checkpoint, func(dec *gob.Decoder) error {
		var m manifest
		if err := dec.Decode(&m); err != nil {
			return err
		}
		if other = here.differs(m); other != nil {
			return nil
		}
		var runs int
		if err := dec.Decode(&runs); err != nil {
			return err
		}
		for range runs {
			var at progress[P, S]
			if err := dec.Decode(&at); err != nil {
				return err
			}
			saved = append(saved, at)
		}
		return nil
	})
	return saved, errors.Join(err, other)
}

// A Search is work other than a fit of the engine, such as a search over labels, with its progress in checkpoints.
type Search struct{ manifest func() (manifest, error) }

// NewSearch identifies a search by its settings, a struct whose exported fields decide the outcome, and by the rows,
// which it reads in one pass when there is a checkpoint.
func NewSearch[B any](settings any, src Source[B]) Search {
	return Search{sync.OnceValues(func() (manifest, error) {
		data, err := fingerprintOf(src)
		return manifest{Model: identity(settings), Rows: src.Rows(), Data: data}, err
	})}
}

// Checkpoint encodes the progress of the search, a value for encoding/gob.
func (s Search) Checkpoint(progress any) ([]byte, error) {
	m, err := s.manifest()
	if err != nil {
		return nil, fmt.Errorf("framework: checkpoint: %w", err)
	}
	return seal(ofSearch, func(enc *gob.Encoder) error { return errors.Join(enc.Encode(m), enc.Encode(progress)) })
}

// Resume decodes the progress of a checkpoint into the value that a pointer points to. It returns a *CheckpointError if
// the checkpoint belongs to another search.
func (s Search) Resume(checkpoint []byte, progress any) error {
	here, err := s.manifest()
	if err != nil {
		return err
	}
	var other error
	err = unseal(ofSearch, checkpoint, func(dec *gob.Decoder) error {
		var there manifest
		if err := dec.Decode(&there); err != nil {
			return err
		}
		if other = here.differs(there); other != nil {
			return nil
		}
		return dec.Decode(progress)
	})
	return errors.Join(err, other)
}
