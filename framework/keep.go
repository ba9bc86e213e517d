package framework

import (
	"fmt"
	"reflect"
	"strings"

	"gonum.org/v1/gonum/floats"
)

// KeepAxes returns a copy of a struct with some of its k latent dimensions, for [optional.Projector].Keep. Tags mark
// the exported fields that have a latent dimension:
//
//	K       int       `keep:"count"`   // the number of them
//	Weights []float64 `keep:"weights"` // K numbers, made to have the sum that they had
//	Means   []float64 `keep:"rows"`    // K×m row-major, or any slice of K·m elements
//	W       []float64 `keep:"columns"` // m×K row-major
//	ZZ      []float64 `keep:"both"`    // K×K row-major
//
// With +1, as in `keep:"columns+1"`, one more place comes before the latent dimensions and stays, such as an intercept
// in arrays of 1 + K.
//
// Slices without a tag are copied, other exported fields are shared; unexported ones, which hold
// scratch memory, are left zero. Misuse, such as a slice whose length is no multiple of k, panics.
func KeepAxes[T any](v *T, k int, dims []int) *T {
	kept := new(T)
	from, to := reflect.ValueOf(v).Elem(), reflect.ValueOf(kept).Elem()
	for i := range from.NumField() {
		field := from.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		old := from.Field(i)
		switch tag := field.Tag.Get("keep"); tag {
		case "":
			to.Field(i).Set(copied(old))
		case "count":
			to.Field(i).SetInt(int64(len(dims)))
		case "weights", "rows", "columns", "both", "rows+1", "columns+1", "both+1":
			if old.Len() == 0 {
				continue
			}
			of, kept := k, dims
			if axis, ok := strings.CutSuffix(tag, "+1"); ok {
				tag, of, kept = axis, k+1, []int{0}
				for _, d := range dims {
					kept = append(kept, d+1)
				}
			}
			to.Field(i).Set(slicesOf(old, of, kept, tag, field.Name))
		default:
			panic(fmt.Sprintf("framework: field %s has the tag keep:%q: use count, weights, rows, columns or both, "+
				"the last three perhaps with +1", field.Name, tag))
		}
	}
	return kept
}

// copied is a field with memory of its own where it is a slice.
func copied(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Slice || v.IsNil() {
		return v
	}
	return reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v)
}

// slicesOf keeps rows, columns or both of a matrix.
func slicesOf(v reflect.Value, k int, dims []int, tag, name string) reflect.Value {
	n := v.Len()
	if n%k != 0 || tag == "both" && n != k*k {
		panic(fmt.Sprintf("framework: field %s has %d elements, which do not fit %d latent dimensions", name, n, k))
	}
	rows, columns := dims, dimensions(n/k)
	switch tag {
	case "columns":
		rows, columns = dimensions(n/k), dims
	case "both":
		columns = dims
	}
	width := n / k
	if tag == "columns" {
		width = k
	}
	if numbers, ok := v.Interface().([]float64); ok {
		kept := make([]float64, 0, len(rows)*len(columns))
		for _, r := range rows {
			for _, c := range columns {
				kept = append(kept, numbers[r*width+c])
			}
		}
		if tag == "weights" {
			normalise(kept, floats.Sum(numbers))
		}
		return reflect.ValueOf(kept).Convert(v.Type())
	}
	list := reflect.MakeSlice(v.Type(), 0, len(rows)*len(columns))
	for _, r := range rows {
		for _, c := range columns {
			list = reflect.Append(list, v.Index(r*width+c))
		}
	}
	return list
}

// normalise gives weights a sum, equal ones where all are 0.
func normalise(weights []float64, total float64) {
	if sum := floats.Sum(weights); sum > 0 {
		floats.Scale(total/sum, weights)
		return
	}
	for i := range weights {
		weights[i] = total / float64(len(weights))
	}
}

// AddSums adds the sums of from to those of into: every exported float64 and []float64 field of a
// struct, as [Statistics].Merge does if all of them are sums.
func AddSums[T any](into, from *T) {
	to, other := reflect.ValueOf(into).Elem(), reflect.ValueOf(from).Elem()
	for i := range to.NumField() {
		if !to.Type().Field(i).IsExported() {
			continue
		}
		switch sum := to.Field(i).Addr().Interface().(type) {
		case *float64:
			*sum += other.Field(i).Float()
		case *[]float64:
			floats.Add(*sum, other.Field(i).Interface().([]float64))
		}
	}
}
