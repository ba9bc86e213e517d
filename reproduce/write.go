package reproduce

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/latent-go/latent/internal/atomicfile"
)

// cell writes a value for a table.
func cell(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// write puts figures, tables and the page into the folder of the experiment.
func (e *Experiment) write(out *Outcome, o Options) (page string, err error) {
	dir := filepath.Join(o.Out, e.Name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	for _, f := range out.Figures {
		if err := f.save(dir); err != nil {
			return "", err
		}
	}
	for _, t := range out.Tables {
		err := atomicfile.Write(filepath.Join(dir, t.Name+".csv"), func(w io.Writer) error {
			return csv.NewWriter(w).WriteAll(append([][]string{t.Header}, t.Rows...))
		})
		if err != nil {
			return "", err
		}
	}
	page = filepath.Join(dir, "README.md")
	return page, replace(page, e.page(out, o))
}

// save draws the figure twice.
func (f Figure) save(dir string) error {
	svg := vgsvg.New(f.Width, f.Height)
	f.draw(draw.New(svg))
	if err := saveCanvas(filepath.Join(dir, f.Name+".svg"), svg); err != nil {
		return err
	}
	img := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(f.Width, f.Height), vgimg.UseDPI(150))}
	f.draw(draw.New(img))
	return saveCanvas(filepath.Join(dir, f.Name+".png"), img)
}

func saveCanvas(path string, canvas io.WriterTo) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
}

func (f Figure) draw(c draw.Canvas) {
	const gap = 8
	tiles := draw.Tiles{
		Rows:      len(f.Plots),
		Cols:      len(f.Plots[0]),
		PadX:      gap,
		PadY:      gap,
		PadTop:    gap,
		PadBottom: gap,
		PadLeft:   gap,
		PadRight:  gap,
	}
	canvases := plot.Align(f.Plots, tiles, c)
	for i, row := range f.Plots {
		for j, p := range row {
			if p != nil {
				p.Draw(canvases[i][j])
			}
		}
	}
}

// page is the experiment in Markdown.
func (e *Experiment) page(out *Outcome, o Options) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n%s\n\n", e.Title, e.Source, strings.TrimSpace(e.About))
	fmt.Fprintf(&b, "**Verdict: %s.**", out.Verdict())
	if out.Tuned {
		b.WriteString(" What the paper leaves open was chosen among several settings by what came out.")
	}
	b.WriteString("\n\n")
	b.WriteString("| the paper | measured | |\n|---|---|---|\n")
	for _, s := range out.Statements {
		mark := "disagrees"
		if s.Agrees {
			mark = "agrees"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", flat(s.Paper), flat(s.Measured), mark)
	}
	b.WriteString("\n")
	if out.Remarks != "" {
		b.WriteString(strings.TrimSpace(out.Remarks) + "\n\n")
	}
	for _, f := range out.Figures {
		fmt.Fprintf(&b, "![%s](%s.svg)\n\n%s\n\n", flat(f.Caption), f.Name, f.Caption)
	}
	for _, t := range out.Tables {
		fmt.Fprintf(&b, "[%s.csv](%s.csv): %s\n\n", t.Name, t.Name, t.About)
		if t.Shown {
			fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(t.Header, " | "), strings.Repeat("---|", len(t.Header)))
			for _, row := range t.Rows {
				short := make([]string, len(row))
				for i, c := range row {
					short[i] = rounded(c)
				}
				fmt.Fprintf(&b, "| %s |\n", strings.Join(short, " | "))
			}
			b.WriteString("\n")
		}
	}
	size := "full"
	if o.Quick {
		size = "quick: fewer seeds and smaller data than the paper's"
	}
	fmt.Fprintf(&b, "Size of the run: %s.", size)
	if o.Command != "" {
		fmt.Fprintf(&b, " Made by `%s`.", o.Command)
	}
	if !o.Date.IsZero() {
		fmt.Fprintf(&b, " Date: %s.", o.Date.Format(time.DateOnly))
	}
	b.WriteString("\n")
	return []byte(b.String())
}

// flat makes a text fit a cell of a table.
func flat(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "\\|")
}

// rounded is a cell for people.
func rounded(text string) string {
	if v, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, ".e") {
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return flat(text)
}
