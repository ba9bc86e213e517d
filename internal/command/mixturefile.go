package command

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/mixture"
)

// loadMixture takes the parameters out of a model file, and the families of its columns.
func loadMixture(file *modelFile) (*savedModel, error) {
	if err := file.checkFamilies(); err != nil {
		return nil, err
	}
	if len(file.Settings.gate()) > 0 {
		return loadGated(file)
	}
	var p *mixture.Parameters
	if err := json.Unmarshal(file.Params, &p); err != nil {
		return nil, err
	}
	if p == nil {
		return nil, errors.New("no parameters")
	}
	if err := file.matches(p.K, p.D); err != nil {
		return nil, err
	}
	model := mixture.Model{Family: families.OfRows(file.Family, file.Columns)}
	if err := model.Check(p); err != nil {
		return nil, err
	}
	m := savedMixture(model, p, families.NeedsComplete(file.Family))
	if file.Posterior == nil {
		return m, nil
	}
	var q *mixture.Posterior
	if err := json.Unmarshal(file.Posterior, &q); err != nil {
		return nil, err
	}
	variational := mixture.Variational{Family: model.Family}
	if err := variational.Check(q); err != nil {
		return nil, err
	}
	if err := file.matches(q.K, q.D); err != nil {
		return nil, err
	}
	if err := variational.Collapses(q); err != nil {
		m.doubt = "predictions are of the model at the posterior means: " + err.Error()
		return m, nil
	}
	m.score = scoreTable(p.K, func(b framework.Rows) (logProb, r []float64, err error) {
		return variational.Predictive(b, q, nil, nil)
	})
	return m, nil
}

// checkFamilies says what is wrong with the families of the columns.
func (m *modelFile) checkFamilies() error {
	names := families.Names(true)
	if m.Model == "bernmix" || families.Joint(m.Family) {
		names = []string{m.Family}
	}
	if len(m.Settings.gate()) > 0 {
		names = append(names, families.Gate)
	}
	for _, c := range m.Columns {
		if err := families.Check(c, names); err != nil {
			return err
		}
	}
	return nil
}

// labelHead heads the column of components, from 1.
const labelHead = "label"

// savedMixture returns the most probable component of each row and its probability, the probability of each, the
// log-likelihood, and the probability of noise where the model has it.
func savedMixture(model mixture.Model, p *mixture.Parameters, needsAll bool) *savedModel {
	m := &savedModel{needsAll: needsAll, layout: layout{first: []string{labelHead, "probability"}, list: "responsibilities", entries: numbered("p", p.K), last: []string{"log_likelihood"}}}
	m.score = scoreTable(p.K, func(b framework.Rows) (logProb, r []float64, err error) { return model.Score(b, p, nil, nil) })
	if _, noise := model.Family.(family.Noise); noise {
		m.layout.last = append(m.layout.last, "noise")
		m.score = withNoise(model, p, m.score)
	}
	m.sample = func(n int, rng *rand.Rand) (x []float64, labels []int, err error) { return model.Sample(p, n, rng) }
	return m
}

// scoreTable makes the columns of a prediction, from the log densities and responsibilities of rows.
func scoreTable(k int, of func(framework.Rows) (logProb, r []float64, err error)) func(framework.Rows) ([]float64, error) {
	return func(b framework.Rows) ([]float64, error) {
		logProb, r, err := of(b)
		if err != nil {
			return nil, err
		}
		labels := mixture.Labels(r, k)
		table := make([]float64, 0, b.N*(k+3))
		for i, l := range logProb {
			own := r[i*k : (i+1)*k]
			table = append(table, float64(labels[i]+1), own[labels[i]])
			table = append(append(table, own...), l)
		}
		return table, nil
	}
}

// withNoise adds the probability of noise as the last column of a prediction, after the log-likelihood.
func withNoise(model mixture.Model, p *mixture.Parameters, score func(framework.Rows) ([]float64, error)) func(framework.Rows) ([]float64, error) {
	return func(b framework.Rows) ([]float64, error) {
		table, err := score(b)
		if err != nil {
			return nil, err
		}
		width := len(table) / b.N
		var list []float64
		for row := range slices.Chunk(table, width) {
			list = append(append(list, row...), model.NoiseProbability(row[width-1:], p)...)
		}
		return list, nil
	}
}
