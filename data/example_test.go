package data_test

import (
	"fmt"
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
