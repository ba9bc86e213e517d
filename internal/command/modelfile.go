package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
)

type modelFile struct {
	summary
	saved *savedModel
}

// saveModel writes a model file, completely or not at all.
func saveModel(path string, s summary) error {
	text, err := encode(s)
	if err != nil {
		return err
	}
	return fitted.Save(path, text)
}

// readModel reads a model file and checks that it makes sense.
func readModel(path string) (*modelFile, error) {
	text, err := fitted.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := parseModel(text)
	return m, fitted.About(path, err)
}

// registry are the models whose files the command reads: those of package builtin, and those of lists of pairs.
func registry() fitted.Registry {
	list := builtin.Models()
	for name, m := range models {
		if m.load != nil {
			list = append(list, fitted.Definition{Name: name, Families: m.families, Load: m.load})
		}
	}
	return list
}

func parseModel(text []byte) (*modelFile, error) {
	f, err := registry().Parse(text)
	if err != nil {
		return nil, err
	}
	m := new(modelFile)
	m.Settings.own = models[f.File.Model].settings()
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	m.saved, err = newSaved(f)
	return m, err
}

// newSaved is what a model of rows is to commands.
func newSaved(f *fitted.Fitted) (*savedModel, error) {
	if own, is := f.Model.(*savedModel); is {
		return own, nil
	}
	scorer, err := f.Model.NewScorer()
	if err != nil {
		return nil, err
	}
	input, columns := f.Model.Input(), f.Columns()
	s := &savedModel{layout: f.Model.Layout(), needsAll: !input.Gaps, optional: namesOf(columns[:input.Optional])}
	s.doubt, s.score = s.layout.Note, s.tables(scorer)
	if m, is := f.Model.(fitted.Prior); is {
		prior, err := m.NewPriorScorer()
		if err != nil {
			return nil, err
		}
		s.gate, s.prior = columns[len(columns)-input.Given:], s.tables(prior)
	}
	if m, is := scorer.(fitted.SequenceScorer); is {
		s.sequences = func(b framework.Sequences) ([]float64, error) {
			table := make([]float64, b.Steps.N*s.layout.Width())
			return table, m.ScoreSequences(b, table)
		}
	}
	if m, is := f.Model.(*builtin.Chain); is {
		s.forecast = func(b framework.Sequences, h int) ([]float64, error) { return m.Of.Forecast(b, m.Parameters, h) }
		s.expect = func(states []float64) (forecastStep, error) { return expectation(m.Of, m.Parameters, columns, states) }
	}
	if m, is := f.Model.(fitted.Sampler); is {
		var draw func(n int) ([]float64, []int, error)
		s.sample = func(n int, rng *rand.Rand) ([]float64, []int, error) {
			if draw == nil {
				draw = m.NewSampler(rng)
			}
			return draw(n)
		}
	}
	if m, is := f.Model.(fitted.SequenceSampler); is {
		s.series = m.SampleSequences
	}
	if m, is := f.Model.(fitted.ConditionalSampler); is {
		s.given = m.SampleGiven
	}
	if m, is := f.Model.(fitted.Filler); is {
		s.fill = m.Fill
	}
	return s, nil
}

// tables has what a scorer says of the rows of a block.
func (s *savedModel) tables(scorer fitted.Scorer) func(b framework.Rows) ([]float64, error) {
	return func(b framework.Rows) ([]float64, error) {
		table := make([]float64, b.N*s.layout.Width())
		return table, scorer.Score(b, table)
	}
}

// Input is that of the rows of a list of pairs, which are no rows of a table.
func (s *savedModel) Input() fitted.Input { return fitted.Input{} }

// Layout names what is said of a pair.
func (s *savedModel) Layout() fitted.Layout { return s.layout }

// NewScorer has none.
func (s *savedModel) NewScorer() (fitted.Scorer, error) {
	return nil, errors.New("a model of lists of pairs says nothing of rows")
}

// reading keeps the texts of columns whose levels the model knows. A table without names
// has its columns in the model's places.
func (m *modelFile) reading() func(name string) data.Reading {
	named, placed := map[string]bool{}, map[string]bool{} // whether a column has levels
	for j, c := range m.Columns {
		named[c.Name], placed["V"+strconv.Itoa(j+1)] = len(c.Levels) > 0, len(c.Levels) > 0
	}
	return func(name string) data.Reading {
		hasLevels, ok := named[name]
		if hasLevels || !ok && placed[name] {
			return data.ReadAsText
		}
		return data.ReadByForm
	}
}
