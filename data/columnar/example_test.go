package columnar_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/framework/blocks"
)

// Rows are written as they come, and read again.
func ExampleNewParquetWriter() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "towns.parquet")
	file, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	w, err := columnar.NewParquetWriter(file, []data.Head{{Name: "town", Cells: data.Texts}, {Name: "height"}})
	if err == nil {
		err = w.Write([]string{"Riga", "Lima"}, []float64{7, 154.5})
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	table, err := columnar.Read([]string{path}, columnar.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(table.Names, table.Levels("town"))
	// Output: [town height] [Riga Lima]
}

// A Parquet file, as pandas or R's arrow write it: only the columns that are wanted are read.
func ExampleRead() {
	path, remove := writeEruptions()
	defer remove()

	table, err := columnar.Read([]string{path}, columnar.Options{Keep: func(name string) bool { return name != "observer" }})
	if err != nil {
		panic(err)
	}
	x, rows, cols, err := table.Matrix()
	fmt.Println(table.Names, x, rows, cols, err)
	// Output: [eruptions waiting] [3.6 79 1.8 54] 2 2 <nil>
}

// The row groups of a Parquet file are decoded as a fit asks for their blocks.
func ExampleOpenRows() {
	path, remove := writeEruptions()
	defer remove()

	rows, err := columnar.OpenRows([]string{path}, columnar.Options{Keep: func(name string) bool { return name != "observer" }})
	if err != nil {
		panic(err)
	}
	defer rows.Close()
	for b, err := range rows.Blocks(context.Background()) {
		fmt.Println(b.N, b.D, b.Row(1), err)
	}
	// Output: 2 2 [1.8 54] <nil>
}

func ExampleOpenRecoded() {
	path, remove := writeEruptions()
	defer remove()

	codes := map[string]float64{"ada": 0, "bo": 1}
	recoded := func(t *data.Table) (x []float64, err error) {
		for row, code := range t.Codes("observer") {
			x = append(x, t.Number(row, 0), t.Number(row, 1), codes[t.Levels("observer")[code]])
		}
		return x, nil
	}
	rows, err := columnar.OpenRecoded([]string{path}, columnar.Options{}, recoded)
	if err != nil {
		panic(err)
	}
	defer rows.Close()
	for b, err := range blocks.Read(rows, 3).Blocks(context.Background()) {
		fmt.Println(b.N, b.D, b.Row(1), err)
	}
	// Output: 2 3 [1.8 54 1] <nil>
}

func writeEruptions() (path string, remove func()) {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	path = filepath.Join(folder, "eruptions.parquet")
	schema := arrow.NewSchema([]arrow.Field{{Name: "eruptions", Type: arrow.PrimitiveTypes.Float64},
		{Name: "waiting", Type: arrow.PrimitiveTypes.Int32}, {Name: "observer", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Float64Builder).AppendValues([]float64{3.6, 1.8}, nil)
	b.Field(1).(*array.Int32Builder).AppendValues([]int32{79, 54}, nil)
	b.Field(2).(*array.StringBuilder).AppendValues([]string{"ada", "bo"}, nil)
	file, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	w, err := pqarrow.NewFileWriter(schema, file, nil, pqarrow.DefaultWriterProps())
	if err == nil {
		err = w.Write(b.NewRecordBatch())
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	return path, func() { os.RemoveAll(folder) }
}
