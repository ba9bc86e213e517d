package data_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/latent-go/latent/data"
)

func Example() {
	flowers, err := data.Load("iris")
	if err != nil {
		panic(err)
	}
	if _, _, _, err := flowers.Matrix(); err != nil {
		fmt.Println(err)
	}
	numbers, err := flowers.Drop("Species")
	if err != nil {
		panic(err)
	}
	x, rows, cols, err := numbers.Matrix()
	if err != nil {
		panic(err)
	}
	fmt.Println(rows, cols, x[:cols])
	// Output:
	// column "Species" is categorical: row 1 is "setosa"; drop it
	// 150 4 [5.1 3.5 1.4 0.2]
}

func ExampleReadCSV() {
	file := "name;height;weight\nada;1.70;61\nbo;;80\ncy;1.82;77\n"
	t, err := data.ReadCSV(strings.NewReader(file), data.CSVOptions{})
	if err != nil {
		panic(err)
	}
	complete, left, err := t.DropMissing()
	if err != nil {
		panic(err)
	}
	height, err := complete.Column("height")
	if err != nil {
		panic(err)
	}
	fmt.Println(complete.Names, height, left)
	// Output: [name height weight] [1.7 1.82] 1
}

func ExampleTable_Factor() {
	file := "legs,wings,weight\n4,no,3.5\n2,yes,\n2,no,70\n"
	t, err := data.ReadCSV(strings.NewReader(file), data.CSVOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Kinds())
	if t, err = t.Factor("legs", nil, false); err != nil {
		panic(err)
	}
	x, rows, cols, err := t.Values()
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Levels("legs"), rows, cols, x)

	_, err = t.Factor("wings", []string{"no"}, false)
	fmt.Println(err)
	// Output:
	// [count categorical continuous]
	// [2 4] 3 3 [1 0 3.5 0 1 NaN 0 0 70]
	// row 2 of column "wings" is "yes", which is none of the levels "no"; give it one of them, or leave it empty
}

// What is embedded, with its source and licence.
func ExampleDatasets() {
	for _, set := range data.Datasets() {
		if set.Rows < 100 {
			fmt.Println(set.Name, set.Rows, set.Cols, set.License)
		}
	}
	set, _ := data.Lookup("iris")
	fmt.Println(set.Title, "by", set.Label)
	// Output:
	// karate 78 2 published data, distributed with R's igraph (GPL-2 or later)
	// NOdata 88 2 published data, distributed with R's mixtools (GPL-2 | GPL-3)
	// ruspini 75 2 published data, distributed with R's cluster (GPL-2 | GPL-3)
	// Iris flowers of three species: lengths and widths of sepals and petals, cm by Species
}

// A file of any format that the package knows: CSV and NPY, plain or gzipped.
func ExampleOpen() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "people.csv")
	if err := os.WriteFile(path, []byte("name,height\nada,1.70\nbo,\n"), 0o600); err != nil {
		panic(err)
	}
	t, err := data.Open(path)
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Names, t.Kinds())
	// Output: [name height] [categorical continuous]
}

// Two files of the same columns, in any order, are one table.
func ExampleReadParts() {
	part := func(name, text string) data.Part {
		return data.Part{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
	}
	t, err := data.ReadParts([]data.Part{part("may", "x,y\n1,2\n"), part("june", "y,x\n4,3\n")}, data.CSVOptions{})
	if err != nil {
		panic(err)
	}
	x, rows, cols, err := t.Matrix()
	fmt.Println(x, rows, cols, err)
	// Output: [1 2 3 4] 2 2 <nil>
}

// What NumPy saves, and the other way.
func ExampleReadNPY() {
	var file bytes.Buffer
	if err := data.WriteNPY(&file, []float64{1, 2, 3, 4}, 2, 2); err != nil {
		panic(err)
	}
	t, err := data.ReadNPY(&file)
	if err != nil {
		panic(err)
	}
	x, rows, cols, err := t.Matrix()
	fmt.Println(t.Names, x, rows, cols, err)
	// Output: [V1 V2] [1 2 3 4] 2 2 <nil>
}

// A table whose cells come column by column.
func ExampleNewBuilder() {
	b, err := data.NewBuilder([]string{"height", "town"}, []bool{false, true}, 3, nil)
	if err != nil {
		panic(err)
	}
	heights, stride := b.Numbers(0)
	for i, v := range []float64{1.7, 1.8, 1.6} {
		heights[i*stride] = v
	}
	copy(b.Codes(1), []int32{0, 1, 0})
	b.Finish(1, []string{"Riga", "Lima"}, nil)
	t := b.Table(0)
	fmt.Println(t.Kinds(), t.Levels("town"))
	// Output: [continuous categorical] [Riga Lima]
}

// Tables of more than 1 GiB lie in a mapped file, and are used like any other.
func ExampleNewStore() {
	store := data.NewStore(1 << 30)
	defer store.Close()
	t, err := data.Read(strings.NewReader("x,y\n1,2\n3,4\n"), data.CSVOptions{Store: store})
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Names, store.Mapped(), "bytes in files")
	// Output: [x y] 0 bytes in files
}

// Rows are written as they come.
func ExampleNewCSVWriter() {
	heads := []data.Head{{Name: "height"}, {Name: "town", Cells: data.Texts}}
	w, err := data.NewCSVWriter(os.Stdout, heads)
	if err != nil {
		panic(err)
	}
	if err := w.Write([]string{"Riga", "Lima"}, []float64{7, 154.5}); err != nil {
		panic(err)
	}
	fmt.Println(w.Close())
	// Output:
	// height,town
	// 7,Riga
	// 154.5,Lima
	// <nil>
}

func ExampleNewCoder() {
	c := data.NewCoder([]string{"1", "2", "many"})
	fmt.Println(c.Code("many", '.'), c.Code("2,0", ','), c.Code("3", '.'))
	// Output: 2 1 -1
}

func ExampleNewFloat32Builder() {
	b, err := data.NewFloat32Builder([]string{"width", "height"}, make([]bool, 2), 2, nil)
	if err != nil {
		panic(err)
	}
	for j, column := range [][]float32{{1, 2}, {0.5, 0.25}} {
		values, stride := b.Float32s(j)
		for i, v := range column {
			values[i*stride] = v
		}
	}
	x, complete := b.Table(0).Float32s()
	fmt.Println(x, complete)
	// Output: [1 0.5 2 0.25] true
}
