//go:build !noasm && !gccgo

package simd

// A block of b of depth × width numbers is copied into panels as wide as a tile of the
// product, where its columns are not neighbours or many rows of a need it: it stays in the
// second cache while strips of rows of a, as high as a tile, go past it from the first.
const (
	depth = 256
	width = 240 // a multiple of the width of a tile
)

// panels are those that are not in use. A sync.Pool would give them back to the
// garbage collector, and the next iteration would ask for them again.
var panels = make(chan *[depth * width]float64, 32)

func takePanel() *[depth * width]float64 {
	select {
	case p := <-panels:
		return p
	default:
		return new([depth * width]float64)
	}
}

func leavePanel(p *[depth * width]float64) {
	select {
	case panels <- p:
	default:
	}
}

func product(m, n, k int, alpha float64, a, b operand, beta float64, c []float64, ldc int, upper bool) {
	high, wide := tileSize()
	packed := b.column != 1 || m > 8*high && n*k > 2048
	var panel *[depth * width]float64
	if packed {
		panel = takePanel()
		defer leavePanel(panel)
	}
	for p := 0; p < k; p += depth {
		depth := min(depth, k-p)
		for j := 0; j < n; j += width {
			width := min(width, n-j)
			if packed {
				b.pack(panel[:], p, j, depth, width, wide)
			}
			for i := 0; i < m; i += high {
				if upper && j+width <= i {
					break
				}
				rows := min(high, m-i)
				if p == 0 {
					scaleRows(c[i*ldc+j:], ldc, rows, width, beta)
				}
				strip := &a.data[i*a.row+p*a.column]
				for t := 0; t < width; {
					columns := tileColumns(width - t)
					if !upper || j+t+columns > i {
						to := &c[i*ldc+j+t]
						if packed {
							tile(to, ldc, strip, a.row, a.column, &panel[t/wide*wide*depth+t%wide], wide, rows, columns, depth, alpha)
						} else {
							tile(to, ldc, strip, a.row, a.column, &b.data[p*b.row+j+t], b.row, rows, columns, depth, alpha)
						}
					}
					t += columns
				}
			}
		}
	}
}

// pack copies depth rows from p and width columns from j on into panels of wide columns.
func (o operand) pack(panel []float64, p, j, depth, width, wide int) {
	for t := 0; t < width; t += wide {
		columns := min(wide, width-t)
		from := o.data[p*o.row+(j+t)*o.column:]
		to := panel[t*depth:][:depth*wide]
		if o.column == 1 {
			for q := range depth {
				copy(to[q*wide:][:columns], from[q*o.row:])
			}
			continue
		}
		for c := range columns {
			line, place := from[c*o.column:], c
			for q := range depth {
				to[place] = line[q*o.row]
				place += wide
			}
		}
	}
}
