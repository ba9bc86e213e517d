package command

import (
	"encoding/json"
	"fmt"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/roles"
)

type modelFile struct {
	outcome.Summary
	Checksum string // SHA-256 of the file before it
	kind     model
	saved    *fitted.Fitted
	input    fitted.Input
	layout   fitted.Layout
	scorer   fitted.Scorer
}

// saveModel writes a model file, completely or not at all.
func saveModel(path string, s outcome.Summary) error {
	text, err := encode(s)
	if err != nil {
		return err
	}
	return fitted.Save(path, text)
}

// read reads a model file and checks that it makes sense.
func (r *registry) read(path string) (*modelFile, error) {
	text, err := fitted.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := r.parse(text)
	return m, fitted.About(path, err)
}

func (r *registry) parse(text []byte) (*modelFile, error) {
	f, err := r.Parse(text)
	if err != nil {
		return nil, err
	}
	m := &modelFile{kind: r.models[f.File.Model], saved: f, input: f.Model.Input(), layout: f.Model.Layout()}
	m.Settings.Roles = roles.Of(m.kind.settings())
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	m.scorer, err = f.Model.NewScorer()
	return m, err
}

// score has what the model says of the rows of a block.
func (m *modelFile) score(b blocks.Rows) ([]float64, error) { return m.scoreBy(m.scorer)(b) }

func (m *modelFile) scoreBy(scorer fitted.Scorer) func(b blocks.Rows) ([]float64, error) {
	return func(b blocks.Rows) ([]float64, error) {
		table := make([]float64, b.N*m.layout.Width())
		return table, scorer.Score(b, table)
	}
}

// scoreSequences is score of sequences, by a model of those.
func (m *modelFile) scoreSequences(b blocks.Sequences) ([]float64, error) {
	table := make([]float64, b.Steps.N*m.layout.Width())
	return table, m.scorer.(fitted.SequenceScorer).ScoreSequences(b, table)
}

// taken are the columns that rows are drawn given.
func (m *modelFile) taken() []string { return namesOf(m.Columns[len(m.Columns)-m.input.Given:]) }
