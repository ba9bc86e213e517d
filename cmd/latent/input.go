package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
)

// fittingData says where the rows of a fit come from.
type fittingData struct {
	Data string `default:"satellite" placeholder:"FILE|NAME" help:"CSV or NPY file, also gzipped; - for standard input; or an embedded data set, see latent datasets."`
}

// inputFlags say how the rows are read and which columns are used.
type inputFlags struct {
	Select  []string `placeholder:"COL" help:"Use these columns only, in this order."`
	Drop    []string `placeholder:"COL" help:"Leave these columns out."`
	Header  string   `default:"auto" enum:"auto,yes,no" help:"Whether the first row of a CSV file names the columns: auto, yes or no."`
	Missing string   `default:"error" enum:"error,drop" help:"Rows with missing values: error refuses them, drop leaves them out."`
}

// An input is a table as it was read.
type input struct {
	*data.Table
	name    string // for messages
	label   string // column of known classes, of embedded data sets only
	unnamed bool   // as they were read, the columns were called V1, V2, …
}

// open reads the table. It gives up waiting when the session is interrupted.
func (f *inputFlags) open(s *session, source string) (*input, error) {
	type answer struct {
		in  *input
		err error
	}
	done := make(chan answer, 1)
	go func() {
		in, err := f.read(source, s.stdin)
		if err == nil {
			in.unnamed = generated(in.Names)
		}
		done <- answer{in, err}
	}()
	select {
	case a := <-done:
		return a.in, a.err
	case <-s.Done():
		return nil, fmt.Errorf("interrupted while reading %s", source)
	}
}

func (f *inputFlags) read(source string, stdin io.Reader) (*input, error) {
	if set, ok := data.Lookup(source); ok {
		t, err := data.Load(source)
		return &input{Table: t, name: set.Name, label: set.Label}, err
	}
	options := data.CSVOptions{Header: map[string]data.HeaderMode{"auto": data.HeaderAuto, "yes": data.HeaderYes, "no": data.HeaderNo}[f.Header]}
	if source == "-" {
		in := &input{name: "standard input"}
		var err error
		in.Table, err = data.Read(stdin, options)
		return in, in.wrap(err)
	}
	in := &input{name: source}
	file, err := os.Open(source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--data %s: no such file, nor an embedded data set: those are %s", source, strings.Join(datasetNames(), ", "))
	case err != nil:
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	in.Table, err = data.Read(file, options)
	return in, in.wrap(err)
}

// wrap puts the name of the input before an error, unless the error names it.
func (in *input) wrap(err error) error {
	var path *fs.PathError
	switch {
	case err == nil || errors.As(err, &path):
		return err
	case errors.Is(err, data.ErrHeader):
		err = fmt.Errorf("%w (--header yes)", err)
	}
	return fmt.Errorf("%s: %w", in.name, err)
}

// choose applies --select and --drop. Where no column was selected, the class labels
// of an embedded data set go too; it tells whether they did.
func (f *inputFlags) choose(in *input) (unlabelled bool, err error) {
	drop := f.Drop
	if len(f.Select) > 0 {
		if in.Table, err = in.Table.Select(f.Select...); err != nil {
			return false, in.wrap(err)
		}
	} else if in.label != "" && !slices.Contains(drop, in.label) {
		unlabelled = true
		drop = append([]string{in.label}, drop...)
	}
	if len(drop) > 0 {
		if in.Table, err = in.Table.Drop(drop...); err != nil {
			return false, in.wrap(err)
		}
	}
	return unlabelled, nil
}

// complete applies --missing.
func (f *inputFlags) complete(s *session, in *input) {
	if f.Missing != "drop" {
		return
	}
	rows := in.Rows()
	var dropped int
	if in.Table, dropped = in.DropMissing(); dropped > 0 {
		s.note("left out %d of the %d rows of %s, which have missing values", dropped, rows, in.name)
	}
}

// A sample is what a model is fitted to.
type sample struct {
	*framework.Table
	name    string
	columns []string
	weights string // column of the row weights
}

// load reads, chooses columns, leaves out rows and takes out the weights.
func (f *inputFlags) load(s *session, source, weights string) (*sample, error) {
	in, err := f.open(s, source)
	if err != nil {
		return nil, err
	}
	all := in.Table
	if weights != "" {
		if slices.Contains(f.Select, weights) || slices.Contains(f.Drop, weights) {
			return nil, misused("column %q is named by --weights: it cannot be selected or dropped", weights)
		}
		if _, err := all.Column(weights); err != nil {
			return nil, in.wrap(fmt.Errorf("--weights: %w", err))
		}
	}
	unlabelled, err := f.choose(in)
	if err != nil {
		return nil, err
	}
	if unlabelled {
		s.note("left out the class labels of %s, column %q (--select chooses columns)", in.name, in.label)
	}
	if weights != "" { // last, so that rows can be left out by them too
		names := slices.DeleteFunc(slices.Clone(in.Names), func(name string) bool { return name == weights })
		if in.Table, err = all.Select(append(names, weights)...); err != nil {
			return nil, in.wrap(err)
		}
	}
	f.complete(s, in)
	var w []float64
	if weights != "" {
		if w, err = in.Column(weights); err != nil {
			return nil, in.wrap(err)
		}
		if in.Table, err = in.Table.Drop(weights); err != nil {
			return nil, in.wrap(err)
		}
	}
	x, rows, cols, err := in.Matrix()
	if err != nil {
		return nil, in.wrap(err)
	}
	t, err := framework.FromSlice(x, rows, cols)
	if err == nil && w != nil {
		t, err = t.WithWeights(w)
	}
	return &sample{t, in.name, in.Names, weights}, in.wrap(err)
}

// nameColumn puts the name of a column into an error that knows its number only.
func (s *sample) nameColumn(err error) error {
	var fault *framework.ColumnError
	if !errors.As(err, &fault) {
		return err
	}
	named := fmt.Sprintf("column %q %s", s.columns[fault.Column], fault.Problem)
	return errors.New(strings.ReplaceAll(err.Error(), fault.Error(), named))
}

func datasetNames() []string {
	var names []string
	for _, d := range data.Datasets() {
		names = append(names, d.Name)
	}
	return names
}
