package laplace

import (
	"bytes"
	"encoding/gob"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/wire"
)

// A tiltWire is what a [Tilt] is made of.
type tiltWire struct {
	N      float64
	Prior  bool
	Blocks []blockWire
}

type blockWire struct {
	K          int
	Class      bool
	Unfactored bool
	Count      float64
	Tilt       float64   // of a class with a prior
	Size       int       // numbers of the information
	Dim        int       // of Matrix
	Matrix     []float64 // row-major, upper triangle
}

// GobEncode encodes a tilt for another process.
func (t *Tilt) GobEncode() ([]byte, error) {
	w := tiltWire{N: t.f.n, Prior: t.f.Prior(), Blocks: make([]blockWire, len(t.f.blocks))}
	for i, b := range t.f.blocks {
		w.Blocks[i] = blockWire{K: b.k, Class: b.class, Unfactored: b.unfactored, Count: b.count, Tilt: b.tilt,
			Size: b.information.SymmetricDim()}
		if !b.class {
			w.Blocks[i].Dim, w.Blocks[i].Matrix = b.matrix.n, b.matrix.entries
		}
	}
	var buf bytes.Buffer
	err := gob.NewEncoder(&buf).Encode(w)
	return buf.Bytes(), err
}

// GobDecode restores an encoded tilt, bit for bit.
func (t *Tilt) GobDecode(text []byte) error {
	var w tiltWire
	if err := wire.Decode(text, &w); err != nil {
		return err
	}
	f := &Curvature{n: w.N, blocks: make([]factored, len(w.Blocks))}
	if w.Prior {
		f.integral = new(integral)
	}
	for i, b := range w.Blocks {
		f.blocks[i] = factored{k: b.K, class: b.Class, unfactored: b.Unfactored, count: b.Count,
			tilt: b.Tilt, information: Identity(b.Size)}
		if !b.Class {
			f.blocks[i].matrix = NewDense(mat.NewSymDense(b.Dim, b.Matrix))
		}
	}
	t.class = nil
	t.Set(f)
	return nil
}
