// Package data reads tables for latent variable models, and carries a few real data sets.
//
// A model needs N×D numbers in one flat row-major slice. Files hold names, labels, missing cells and
// typing errors. A [Table] connects the two. It is read from CSV or NPY (plain or gzipped, from a file or standard
// input), columns are selected by name, and a model gets it without a copy. If a cell is not a finite number, an
// error says where the first such cell is.
//
//	t, err := data.Open("flowers.csv.gz")   // or data.Load("iris"), which is embedded
//	t, err = t.Drop("Species")              // a text column is no input for a model of numbers
//	t, left, err := t.DropMissing()         // left: how many rows were left out
//	x, rows, cols, err := t.Matrix()        // rows×cols, row-major
//
// For models of columns of several kinds, with gaps, [Table.Kinds] guesses the kind of each column ([Table.Diagnose]
// says what may mislead it), and [Table.Factor] makes a column categorical with sorted levels, or with the levels
// that a saved model knows:
//
//	t, err := data.Load("zoo")
//	kinds := t.Kinds()                     // legs is a Count, the other columns are Categorical
//	t, err = t.Factor("type", nil, false)  // codes 0, 1, … whatever the order of the rows
//	x, rows, cols, err := t.Values()       // as Matrix, with codes, and NaN for missing cells
//
// [Table.Suggest] also examines dispersion and skewness, and finds identifiers and dates.
//
// Columns are numeric or categorical. A column is categorical if one of its cells is neither a number nor missing, or
// if [CSVOptions] say so; the text of cells such as 01234 is then kept. Rows are counted from 1 in every error.
// Whatever a file holds, nothing here panics, allocates memory that only a header claims to need, or reads a cell
// that it does not understand as NaN.
//
// With a [Store], a table may be larger than memory: it then keeps its numbers in mapped files.
//
// [Datasets] lists the embedded data; embedded/README.md says where each set comes from.
package data
