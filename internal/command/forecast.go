package command

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// checkSequences refuses flags about sequences where rows are independent, and what cannot be done with sequences.
func (c *predictCommand) checkSequences(m *modelFile) error {
	_, forecasts := m.saved.Model.(fitted.Forecaster)
	switch {
	case !m.input.Sequence && c.Sequence != "":
		return misused("--sequence requires a model of sequences: %s is %s model", c.Saved, wording.A(m.Model))
	case !m.input.Sequence && c.Forecast != nil:
		return misused("--forecast requires a model of sequences: %s is %s model", c.Saved, wording.A(m.Model))
	case m.input.Sequence && c.Missing != nil && tables.LeavesOut(*c.Missing):
		return tables.ErrJoins
	case c.Forecast == nil:
		return nil
	case m.input.Given > 0:
		return misused("--forecast cannot be used with %s: it would need the values of %s in the steps to come", c.Saved,
			quoted(m.taken()))
	case !forecasts:
		return misused("--forecast cannot be used with %s model, which cannot say what follows", wording.A(m.Model))
	case c.Label != "" || len(c.ID) > 0:
		return misused("--label and --id cannot be used with --forecast, which predicts future rows")
	}
	return nil
}

// A forecastStep is one step after the end of a sequence, as JSON has it.
type forecastStep struct {
	Sequence string            `json:"sequence,omitempty"`
	Step     int               `json:"step"` // from 1
	States   []number          `json:"responsibilities,omitempty"`
	Latent   []number          `json:"z,omitempty"` // means of latent numbers
	Mean     map[string]number `json:"mean"`        // of columns of numbers
	SD       map[string]number `json:"sd"`

	Levels map[string]map[string]number `json:"probabilities,omitempty"` // of columns of levels
}

// forecast writes the steps after each sequence.
func (c *predictCommand) forecast(s *session, m *modelFile, p *prediction) error {
	var steps []forecastStep
	h := *c.Forecast
	sequence := 0
	for first, n := 0, 0; first < p.rows && h > 0; first += n {
		if s.Err() != nil {
			return s.Err()
		}
		n = p.after(first) - first
		ahead, err := m.ahead(p.series(p.block(first, n)), h)
		if err != nil {
			return faults.Rendered(p.in.Name + ": " + p.errors.Render(err))
		}
		for i, step := range ahead {
			step.Step = i%h + 1
			if p.in.SequenceNames != nil {
				step.Sequence = p.in.SequenceNames[sequence+i/h]
			}
			steps = append(steps, step)
		}
		sequence += len(ahead) / h
	}
	return s.emit(c.Out, func(w io.Writer) error {
		if c.Format == "json" {
			return writeJSON(w, struct {
				Forecast []forecastStep `json:"forecast"`
				Warnings []string       `json:"warnings"`
			}{append([]forecastStep{}, steps...), append([]string{}, s.Notes...)})
		}
		return writeForecast(w, steps, m, p.in.SequenceNames != nil)
	})
}

// ahead are the h steps after each sequence of a block.
func (m *modelFile) ahead(b blocks.Sequences, h int) (steps []forecastStep, err error) {
	list, err := m.saved.Model.(fitted.Forecaster).Forecast(b, h)
	for _, one := range list {
		step := forecastStep{States: numbers(one.Classes), Latent: numbers(one.Latent), Mean: map[string]number{},
			SD: map[string]number{}}
		for j, column := range m.Columns {
			if one.Levels != nil && one.Levels[j] != nil {
				step.addLevels(column, one.Levels[j])
			} else if mean := number(one.Mean[j]); mean == mean {
				step.Mean[column.Name], step.SD[column.Name] = mean, number(one.SD[j])
			}
		}
		steps = append(steps, step)
	}
	return steps, err
}

// addLevels adds the probabilities of the levels of a column.
func (s *forecastStep) addLevels(c data.Column, probabilities []float64) {
	own := map[string]number{}
	for l, p := range probabilities {
		own[c.Levels[l]] = number(p)
	}
	if s.Levels == nil {
		s.Levels = map[string]map[string]number{}
	}
	s.Levels[c.Name] = own
}

func writeForecast(w io.Writer, steps []forecastStep, m *modelFile, named bool) error {
	out := csv.NewWriter(w)
	var heads []string
	if named {
		heads = append(heads, "sequence")
	}
	heads = append(append(heads, "step"), m.layout.Items...)
	for _, column := range m.Columns {
		if len(column.Levels) == 0 {
			heads = append(heads, "mean_"+column.Name, "sd_"+column.Name)
			continue
		}
		for _, level := range column.Levels {
			heads = append(heads, "p_"+column.Name+"="+level)
		}
	}
	if err := out.Write(heads); err != nil {
		return err
	}
	text := func(v number, ok bool) string {
		if !ok || v-v != 0 {
			return ""
		}
		return strconv.FormatFloat(float64(v), 'g', -1, 64)
	}
	for _, step := range steps {
		var record []string
		if named {
			record = append(record, step.Sequence)
		}
		record = append(record, strconv.Itoa(step.Step))
		for _, v := range slices.Concat(step.States, step.Latent) {
			record = append(record, text(v, true))
		}
		for _, column := range m.Columns {
			for _, level := range column.Levels {
				record = append(record, text(step.Levels[column.Name][level], true))
			}
			if len(column.Levels) > 0 {
				continue
			}
			mean, ok := step.Mean[column.Name]
			record = append(record, text(mean, ok), text(step.SD[column.Name], ok))
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
