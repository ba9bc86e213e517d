package data

import (
	"encoding/binary"
	"fmt"
	"io"
)

// WriteCSV writes rows×cols numbers, row-major, under a line of names; nil names omit the line. Numbers are the
// shortest decimals that read back as the same float64; a missing value is NaN. It returns an error if the lengths of
// names and x do not match rows and cols, or if w fails.
func WriteCSV(w io.Writer, names []string, x []float64, rows, cols int) error {
	if err := checkShape(x, rows, cols); err != nil {
		return err
	}
	if names != nil && len(names) != cols {
		return fmt.Errorf("%d names for %d columns", len(names), cols)
	}
	out := newCSVWriter(w, make([]Head, cols))
	if names != nil {
		if err := out.records.Write(names); err != nil {
			return err
		}
	}
	return out.Write(nil, x)
}

// WriteNPY writes rows×cols numbers, row-major, as a two-dimensional float64 array that NumPy's load reads.
// It returns an error if the length of x does not match rows and cols, or if w fails.
func WriteNPY(w io.Writer, x []float64, rows, cols int) error {
	if err := checkShape(x, rows, cols); err != nil {
		return err
	}
	const align = 64 // as NumPy does, so that the numbers can be mapped into memory
	order := "<"
	if isBigEndian {
		order = ">"
	}
	dict := fmt.Sprintf("{'descr': '%sf8', 'fortran_order': False, 'shape': (%d, %d), }", order, rows, cols)
	blanks := align - 1 - (len(npyMagic)+4+len(dict))%align
	head := append([]byte(npyMagic), 1, 0)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(dict)+blanks+1))
	if _, err := fmt.Fprintf(w, "%s%s%*s\n", head, dict, blanks, ""); err != nil {
		return err
	}
	_, err := w.Write(bytesOf(x))
	return err
}

func checkShape(x []float64, rows, cols int) error {
	if rows < 1 || cols < 1 {
		return fmt.Errorf("the table has %d rows and %d columns; must have at least one of each", rows, cols)
	}
	if len(x)%cols != 0 || len(x)/cols != rows {
		return fmt.Errorf("%d values do not make %d rows of %d columns", len(x), rows, cols)
	}
	return nil
}
