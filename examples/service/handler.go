package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/latent-go/latent/data"
)

// handler answers requests.
type handler struct {
	*models
	body int64
	rows int
}

func newHandler(m *models, s settings) http.Handler {
	h := &handler{m, s.body, s.rows}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /score", h.score)
	mux.HandleFunc("GET /model", h.model)
	mux.HandleFunc("GET /health", h.health)
	mux.HandleFunc("GET /metrics", h.exposition)
	return m.metrics.count(mux)
}

// A question is the body of POST /score. Of a model of sequences the rows are the steps of one.
type question struct {
	Columns []string `json:"columns"` // of the rows, in any order; none: those of the model, in their order
	Rows    [][]cell `json:"rows"`
}

// An answer has the numbers that names are of, for each row.
type answer struct {
	Model string      `json:"model"`
	Names []string    `json:"names"`
	Rows  [][]float64 `json:"rows"`
}

// A cell is a text as tables have it, a number, or null where it is missing.
type cell struct {
	text   string
	number float64
	digits bool // it was a number
}

func (c *cell) UnmarshalJSON(text []byte) (err error) {
	switch {
	case string(text) == "null":
		return nil
	case text[0] == '"':
		return json.Unmarshal(text, &c.text)
	}
	if c.number, err = strconv.ParseFloat(string(text), 64); err != nil {
		return fmt.Errorf("%.40s is no cell: those are texts, numbers and null", text)
	}
	c.text, c.digits = string(text), true
	return nil
}

// A refusal is an error with the status that a client is told.
type refusal struct {
	status int
	error
}

// score says of each row what latent predict does.
func (h *handler) score(w http.ResponseWriter, r *http.Request) {
	q, err := h.read(w, r)
	if err == nil {
		var a *answer
		if a, err = h.now().answer(q); err == nil {
			h.metrics.rows.Add(uint64(len(a.Rows)))
			reply(w, http.StatusOK, a)
			return
		}
	}
	status := http.StatusUnprocessableEntity
	if known, is := errors.AsType[refusal](err); is {
		status = known.status
	}
	reply(w, status, map[string]string{"error": err.Error()})
}

// read takes a question out of a body.
func (h *handler) read(w http.ResponseWriter, r *http.Request) (*question, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.body))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		err = fmt.Errorf("the body has more than %d bytes: ask about fewer rows", h.body)
		return nil, refusal{http.StatusRequestEntityTooLarge, err}
	}
	if err != nil {
		return nil, refusal{http.StatusBadRequest, err}
	}
	q, d := new(question), json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(q); err != nil {
		return nil, refusal{http.StatusBadRequest, fmt.Errorf("the body is no JSON of a question: %w", err)}
	}
	switch _, err = d.Token(); {
	case !errors.Is(err, io.EOF):
		return nil, refusal{http.StatusBadRequest, errors.New("the body has more than one value")}
	case len(q.Rows) == 0:
		return nil, refusal{http.StatusBadRequest, errors.New("the question has no rows")}
	case len(q.Rows) > h.rows:
		err = fmt.Errorf("%d rows, and %d may be asked about at once", len(q.Rows), h.rows)
		return nil, refusal{http.StatusRequestEntityTooLarge, err}
	}
	return q, nil
}

// answer scores rows.
func (m *model) answer(q *question) (*answer, error) {
	order, err := m.order(q.Columns)
	if err != nil {
		return nil, err
	}
	d, width := len(m.Columns()), len(m.names)
	x, texts := make([]float64, len(q.Rows)*d), make([]string, d)
	a := &answer{Model: m.checksum, Names: m.names}
	numbers := make([]float64, len(q.Rows)*width)
	for i, cells := range q.Rows {
		row, said := x[i*d:(i+1)*d], numbers[i*width:(i+1)*width]
		err := m.encode(row, cells, order, texts)
		if err == nil && !m.Model.Input().Sequence {
			err = m.Score(row, said)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		a.Rows = append(a.Rows, said)
	}
	if m.Model.Input().Sequence {
		err = m.Score(x, numbers)
	}
	return a, err
}

// order is where a question has each column of the model; nil: in its place.
func (m *model) order(columns []string) ([]int, error) {
	if columns == nil {
		return nil, nil
	}
	order := make([]int, len(m.places))
	for j := range order {
		order[j] = -1
	}
	for i, name := range columns {
		j, known := m.places[name]
		switch {
		case !known:
			return nil, fmt.Errorf("the model has no column %.60q", name)
		case order[j] >= 0:
			return nil, fmt.Errorf("column %.60q comes twice", name)
		}
		order[j] = i
	}
	for name, j := range m.places {
		if order[j] < 0 {
			return nil, fmt.Errorf("column %.60q of the model is missing", name)
		}
	}
	return order, nil
}

// encode puts cells into row. Numbers of columns of numbers are taken as they are; texts, levels and dates are read as
// in a table.
func (m *model) encode(row []float64, cells []cell, order []int, texts []string) error {
	if len(cells) != len(row) {
		return fmt.Errorf("it has %d cells, and the model %d columns", len(cells), len(row))
	}
	of := func(j int) *cell {
		if order != nil {
			j = order[j]
		}
		return &cells[j]
	}
	plain := func(j int, c data.Column) bool { return of(j).digits && len(c.Levels) == 0 && c.Unit == "" }
	for j, c := range m.Columns() {
		if texts[j] = of(j).text; plain(j, c) {
			texts[j] = ""
		}
	}
	if err := m.Encode(row, texts); err != nil {
		return err
	}
	for j, c := range m.Columns() {
		if plain(j, c) {
			row[j] = of(j).number
		}
	}
	return nil
}

// model says what may be asked.
func (h *handler) model(w http.ResponseWriter, _ *http.Request) {
	m := h.now()
	reply(w, http.StatusOK, map[string]any{
		"model": m.checksum, "kind": m.File.Model, "family": m.File.Family, "k": m.File.K,
		"columns": m.Columns(), "names": m.names, "sequence": m.Model.Input().Sequence,
	})
}

// health says that the service answers, by which model, and what is wrong with a newer file.
func (h *handler) health(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"status": "ok", "model": h.now().checksum, "reload_error": h.failed.Load()})
}

// reply writes JSON.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone is not waiting for it
}
