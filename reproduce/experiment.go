package reproduce

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/latent-go/latent/data"
)

// Info describes an experiment.
type Info struct {
	Name   string // what the command calls it, such as "gfic-fig2"
	Title  string
	Source string // paper and place
	About  string // what is done, in a paragraph or two of Markdown
	// Revision changes when jobs compute something else: results kept from earlier ones
	// are not used.
	Revision int
	// Needs are data that are not shipped: the experiment is skipped without them.
	Needs []DataFile
}

// A DataFile is a file that the user brings.
type DataFile struct {
	Name  string // such as "zebo.csv"
	Holds string // what it should hold
}

// Settings are what jobs may depend on.
type Settings struct {
	// Quick asks for the same code on fewer seeds and smaller data, in less than 20 s.
	Quick bool
	// Data is the folder of files that are not shipped, or "".
	Data string
	// Tables is how many tables an experiment draws that may draw any number; 0: its own.
	Tables int
}

// Table reads one of the data files of an experiment.
func (s *Settings) Table(f DataFile) (*data.Table, error) {
	path := filepath.Join(s.Data, f.Name)
	if _, err := os.Stat(path); s.Data == "" || errors.Is(err, os.ErrNotExist) {
		return nil, &MissingData{f, s.Data}
	}
	return data.Open(path)
}

// MissingData returns which file an experiment lacks.
type MissingData struct {
	File   DataFile
	Folder string // where it was looked for; "" where no folder was given
}

func (e *MissingData) Error() string {
	where := "give its folder with --data"
	if e.Folder != "" {
		where = "it is not in " + e.Folder
	}
	return fmt.Sprintf("%s is missing (%s): %s", e.File.Name, where, e.File.Holds)
}

// seeds is the number of repetitions.
func (s *Settings) seeds(full, quick int) int {
	if s.Quick {
		return quick
	}
	return full
}

// tables is [Settings].seeds where [Settings].Tables may have another number.
func (s *Settings) tables(full, quick int) int {
	if s.Tables > 0 {
		return s.Tables
	}
	return s.seeds(full, quick)
}

// An Experiment is made by [Define].
type Experiment struct {
	Info
	plan     func(*Settings) ([]part, error)
	conclude func(s *Settings, results [][]byte) (*Outcome, error)
}

// part is a job whose result is encoded.
type part struct {
	key  string
	cost float64
	run  func(ctx context.Context) ([]byte, error)
}

// A Job computes one result on one goroutine. Everything that it needs it has from its
// closure, and every random number from a seed of its own.
type Job[R any] struct {
	// Key names the job within the experiment: letters, digits, dots, dashes, underscores.
	Key string
	// Cost is how long the job takes relative to the others, for the estimate of the time left.
	// 0 stands for 1.
	Cost float64
	Run  func(ctx context.Context) (R, error)
}

// Define makes an experiment of jobs with results of type R, which encoding/gob can
// encode. conclude gets the results in the order of the jobs.
func Define[R any](
	info Info, jobs func(*Settings) ([]Job[R], error), conclude func(s *Settings, results []R) (*Outcome, error),
) *Experiment {
	return &Experiment{
		Info: info,
		plan: func(s *Settings) ([]part, error) {
			list, err := jobs(s)
			if err != nil {
				return nil, err
			}
			var parts []part
			seen := map[string]bool{}
			for _, j := range list {
				if !validKey(j.Key) || seen[j.Key] {
					panic(fmt.Sprintf("reproduce: %s: bad or repeated job key %q", info.Name, j.Key))
				}
				seen[j.Key] = true
				cost := j.Cost
				if cost == 0 {
					cost = 1
				}
				parts = append(parts, part{j.Key, cost, func(ctx context.Context) ([]byte, error) {
					r, err := j.Run(ctx)
					if err != nil {
						return nil, fmt.Errorf("%s: %w", j.Key, err)
					}
					var text bytes.Buffer
					err = gob.NewEncoder(&text).Encode(&r)
					return text.Bytes(), err
				}})
			}
			return parts, nil
		},
		conclude: func(s *Settings, encoded [][]byte) (*Outcome, error) {
			results := make([]R, len(encoded))
			for i, text := range encoded {
				if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&results[i]); err != nil {
					return nil, err
				}
			}
			return conclude(s, results)
		},
	}
}

func validKey(key string) bool {
	return key != "" && !strings.HasPrefix(key, ".") &&
		strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == ""
}

// An Outcome is what an experiment found.
type Outcome struct {
	Statements []Statement
	Figures    []Figure
	Tables     []Table
	Remarks    string // Markdown, after the statements
	// Tuned says that what the paper leaves open, such as its truth, was chosen among several by what came out.
	// Statements that agree then agree in part.
	Tuned bool
}

// A Statement of the paper, with what was measured.
type Statement struct {
	Paper    string
	Measured string
	Agrees   bool // computed from the numbers
	// Central statements are those that the experiment is for: where one fails, the verdict
	// is Disagrees.
	Central bool
}

// A Verdict sums up statements.
type Verdict string

const (
	Agrees    Verdict = "agrees"
	InPart    Verdict = "agrees in part"
	Disagrees Verdict = "disagrees"
)

// Verdict is Agrees where all statements agree in a setting that was not tuned, and Disagrees where none does or a
// central one does not.
func (o *Outcome) Verdict() Verdict {
	yes, failed := 0, false
	for _, s := range o.Statements {
		if s.Agrees {
			yes++
		} else if s.Central {
			failed = true
		}
	}
	switch {
	case yes == len(o.Statements) && !o.Tuned:
		return Agrees
	case yes == 0 || failed:
		return Disagrees
	}
	return InPart
}

// A Figure is saved as NAME.svg and NAME.png.
type Figure struct {
	Name          string
	Caption       string // what it shows: also the text for those who cannot see it
	Plots         [][]*plot.Plot
	Width, Height vg.Length // of the figure
}

// A Table is saved as NAME.csv.
type Table struct {
	Name   string
	About  string // what the columns are
	Header []string
	Rows   [][]string
	// Shown puts the table on the page too.
	Shown bool
}

// Add appends a row. Numbers are written so that they read back to the same bits.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = cell(c)
	}
	t.Rows = append(t.Rows, row)
}
