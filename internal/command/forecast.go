package command

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/data"
)

// checkSequences refuses flags about sequences where rows are independent, and what cannot be done with sequences.
func (c *predictCommand) checkSequences(m *modelFile) error {
	switch {
	case !m.input.Sequence && c.Sequence != "":
		return misused("--sequence requires a model of sequences: %s is a %s model", c.Saved, m.Model)
	case !m.input.Sequence && c.Forecast != nil:
		return misused("--forecast requires a model of sequences: %s is a %s model", c.Saved, m.Model)
	case m.input.Sequence && c.Missing != nil && (*c.Missing == missingDrop || *c.Missing == missingEmpty):
		return errJoins
	case c.Forecast == nil:
		return nil
	case c.Label != "" || len(c.ID) > 0:
		return misused("--forecast is of rows that are not there yet: --label and --id cannot be used with it")
	}
	return nil
}

// A forecastStep is one step after the end of a sequence, as JSON has it.
type forecastStep struct {
	Sequence string            `json:"sequence,omitempty"`
	Step     int               `json:"step"` // from 1
	States   []number          `json:"responsibilities"`
	Mean     map[string]number `json:"mean"` // of columns of numbers
	SD       map[string]number `json:"sd"`

	Levels map[string]map[string]number `json:"probabilities,omitempty"` // of columns of levels
}

// addLevels adds the probabilities that a state, which has itself the probability weight, gives the levels of a column.
func (s *forecastStep) addLevels(c data.Column, weight float64, probabilities []float64) {
	if s.Levels == nil {
		s.Levels = map[string]map[string]number{}
	}
	if s.Levels[c.Name] == nil {
		s.Levels[c.Name] = map[string]number{}
	}
	for l, p := range probabilities {
		s.Levels[c.Name][c.Levels[l]] += number(weight * p)
	}
}

// forecast writes the steps after each sequence.
func (c *predictCommand) forecast(s *session, m *modelFile, p *prediction) error {
	var steps []forecastStep
	chain := m.saved.Model.(*builtin.Chain)
	h, k := *c.Forecast, m.K
	sequence := 0
	for first, n := 0, 0; first < p.rows && h > 0; first += n {
		if s.Err() != nil {
			return s.Err()
		}
		n = p.after(first) - first
		states, err := chain.Of.Forecast(p.series(p.block(first, n)), chain.Parameters, h)
		if err != nil {
			return rendered(p.in.name + ": " + p.errors.render(err))
		}
		for i := range len(states) / k {
			step, err := expectation(chain.Of, chain.Parameters, m.Columns, states[i*k:(i+1)*k])
			if err != nil {
				return err
			}
			step.Step = i%h + 1
			if p.in.sequences != nil {
				step.Sequence = p.in.sequences[sequence+i/h]
			}
			steps = append(steps, step)
		}
		sequence += len(states) / (k * h)
	}
	return s.emit(c.Out, func(w io.Writer) error {
		if c.Format == "json" {
			return writeJSON(w, struct {
				Forecast []forecastStep `json:"forecast"`
				Warnings []string       `json:"warnings"`
			}{append([]forecastStep{}, steps...), append([]string{}, s.notes...)})
		}
		return writeForecast(w, steps, m, p.in.sequences != nil)
	})
}

func writeForecast(w io.Writer, steps []forecastStep, m *modelFile, named bool) error {
	out := csv.NewWriter(w)
	var heads []string
	if named {
		heads = append(heads, "sequence")
	}
	heads = append(append(heads, "step"), numbered("p", m.K)...)
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
		for _, v := range step.States {
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
