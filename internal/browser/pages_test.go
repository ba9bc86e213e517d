package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pageCase is a report that the command writes.
type pageCase struct {
	name string
	args []string
	file func() string // of the argument FILE; nil: an embedded data set
	fit  []string      // flags of the fit of mixedTable that the argument MODEL names
}

// pages are the reports that the tests look at: a table of each kind, and a fit of each model.
var pages = []pageCase{
	{"mixture", []string{"fit"}, nil, nil},
	{"mixed columns", []string{"fit", "--family", "auto", "--data", "FILE"}, mixedTable, nil},
	{"latent classes", []string{"fit", "--family", "auto", "--data", "FILE"}, answers, nil},
	{"sixteen classes", []string{"fit", "--model", "lca", "--method", "em", "--k", "16", "--restarts", "1", "--data", "FILE"}, opinions, nil},
	{"fourteen components", []string{"fit", "--method", "em", "--k", "14", "--data", "FILE"}, fourteen, nil},
	{"one component", []string{"fit", "--k", "1", "--data", "iris"}, nil, nil},
	{"unusual names", []string{"fit", "--method", "em", "--kmax", "3", "--data", "FILE"}, unusualNames, nil},
	{"bpca", []string{"fit", "--model", "bpca", "--data", "satellite"}, nil, nil},
	{"ppca", []string{"fit", "--model", "ppca", "--data", "iris"}, nil, nil},
	{"vbmf", []string{"fit", "--model", "vbmf", "--data", "iris"}, nil, nil},
	{"factor", []string{"fit", "--model", "factor", "--data", "crabs"}, nil, nil},
	{"features", []string{"fit", "--model", "features", "--data", "iris"}, nil, nil},
	{"hmm", []string{"fit", "--model", "hmm", "--data", "geyser"}, nil, nil},
	{"regression", []string{"fit", "--model", "regression", "--data", "NOdata", "--response", "NO"}, nil, nil},
	{"gate", []string{"fit", "--method", "em", "--k", "3", "--data", "FILE", "--gate", "age,region"}, gated, nil},
	{"topics", []string{"fit", "--model", "topics", "--data", "bars", "--restarts", "1"}, nil, nil},
	{"blocks", []string{"fit", "--model", "blockmodel", "--data", "karate"}, nil, nil},
	{"select", []string{"select", "--kmax", "5", "--restarts", "2"}, nil, nil},
	{"predict", []string{"predict", "MODEL", "--data", "FILE"}, movedTable, []string{"--family", "auto"}},
	{"families", []string{"select", "--family", "all", "--kmax", "2", "--restarts", "1"}, nil, nil},
}

// build makes the command of the module around this one.
func build(t *testing.T) string {
	t.Helper()
	command := filepath.Join(t.TempDir(), "latent")
	make := exec.Command("go", "build", "-o", command, "./cmd/latent")
	make.Dir = filepath.Join("..", "..")
	output, err := make.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return command
}

// write has the command write the page, and returns its place and the JSON of the same run, numbers as they are written.
func (c pageCase) write(t *testing.T, command string) (page string, report map[string]any) {
	t.Helper()
	dir := t.TempDir()
	args := append(append([]string{}, c.args...), "--format", "json", "--report", dir)
	for i, a := range args {
		switch a {
		case "FILE":
			args[i] = filepath.Join(dir, "table.csv")
			require.NoError(t, os.WriteFile(args[i], []byte(c.file()), 0o600))
		case "MODEL":
			args[i] = filepath.Join(dir, "model.json")
			table := filepath.Join(dir, "old.csv")
			require.NoError(t, os.WriteFile(table, []byte(mixedTable()), 0o600))
			output, err := exec.Command(command, append([]string{"fit", "--data", table, "--out", args[i]}, c.fit...)...).CombinedOutput()
			require.NoError(t, err, "%s", output)
		}
	}
	run := exec.Command(command, args...)
	var stderr bytes.Buffer
	run.Stderr = &stderr
	stdout, err := run.Output()
	require.NoError(t, err, "latent %s: %s", strings.Join(args, " "), &stderr)
	d := json.NewDecoder(bytes.NewReader(stdout))
	d.UseNumber()
	require.NoError(t, d.Decode(&report))
	return filepath.Join(dir, "index.html"), report
}

// source draws the same numbers in every run.
func source() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// mixedTable has numbers, counts, codes and gaps, in two groups.
func mixedTable() string {
	r := source()
	var text strings.Builder
	text.WriteString("income,visits,region,member,weight_of_the_household_in_the_sample\n")
	for i := range 240 {
		group := i % 2
		cells := []string{
			fmt.Sprintf("%.2f", 1800+900*float64(group)+300*r.NormFloat64()),
			fmt.Sprint(1 + 4*group + r.IntN(4)),
			[]string{"north", "south", "west"}[min(2, r.IntN(2)+group)],
			[]string{"no", "yes"}[r.IntN(2+group)&1],
			fmt.Sprintf("%.3f", 0.8+0.1*r.NormFloat64()),
		}
		for j := range cells {
			if r.IntN(12) == 0 {
				cells[j] = ""
			}
		}
		text.WriteString(strings.Join(cells, ",") + "\n")
	}
	return text.String()
}

// movedTable is mixedTable in other units.
func movedTable() string {
	head, rows, _ := strings.Cut(mixedTable(), "\n")
	return head + "\n" + strings.ReplaceAll(rows, "18", "38")
}

// answers are those to thirty questions, of two classes of people, some not given.
func answers() string {
	r := source()
	var text strings.Builder
	for j := range 30 {
		fmt.Fprintf(&text, "question_%d,", j+1)
	}
	text.WriteString("place\n")
	for i := range 200 {
		for j := range 30 {
			likely := 0.15
			if (i%2 == 0) == (j < 15) {
				likely = 0.8
			}
			switch {
			case r.IntN(20) == 0:
				text.WriteString(",")
			case r.Float64() < likely:
				text.WriteString("yes,")
			default:
				text.WriteString("no,")
			}
		}
		text.WriteString([]string{"a", "b", "c"}[r.IntN(3)] + "\n")
	}
	return text.String()
}

// opinions are answers in four levels to twelve questions, of sixteen classes of people.
func opinions() string {
	r := source()
	questions := strings.Split("economy,health,school,roads,police,climate,taxes,housing,pensions,defence,farming,culture", ",")
	levels := []string{"no", "rather no", "rather yes", "yes"}
	likely := make([][]int, 16)
	for k := range likely {
		for range questions {
			likely[k] = append(likely[k], r.IntN(len(levels)))
		}
	}
	var text strings.Builder
	text.WriteString(strings.Join(questions, ",") + "\n")
	for i := range 1600 {
		var cells []string
		for _, level := range likely[i%(1+i%16)] {
			if r.IntN(4) == 0 {
				level = r.IntN(len(levels))
			}
			cells = append(cells, levels[level])
		}
		text.WriteString(strings.Join(cells, ",") + "\n")
	}
	return text.String()
}

// fourteen are points around as many places.
func fourteen() string {
	r := source()
	var text strings.Builder
	text.WriteString("length,width,height\n")
	for i := range 14 * 40 {
		k := float64(i % 14)
		fmt.Fprintf(&text, "%.3f,%.3f,%.3f\n", 10*k+r.NormFloat64(), 7*float64(i%14%4)+r.NormFloat64(), 5*float64(i%14%3)+r.NormFloat64())
	}
	return text.String()
}

// unusualNames are long, in another direction of writing, or look like something else.
func unusualNames() string {
	r := source()
	var text strings.Builder
	text.WriteString("العمر,a_name_that_is_far_longer_than_any_label_has_room_for_and_has_no_space,<b>&\n")
	for i := range 90 {
		at := 5 * float64(i%3)
		fmt.Fprintf(&text, "%.3f,%.3f,%.6g\n", at+r.NormFloat64(), -at+r.NormFloat64(), 1e9*(at+r.NormFloat64()))
	}
	return text.String()
}

// gated has components whose probabilities depend on two columns.
func gated() string {
	r := source()
	var text strings.Builder
	text.WriteString("age,region,height,weight\n")
	for range 300 {
		age := 20 + 50*r.Float64()
		region := r.IntN(3)
		k := 0
		if r.Float64() < (age-20)/60+0.1*float64(region) {
			k = 1 + r.IntN(2)
		}
		fmt.Fprintf(&text, "%.1f,%s,%.2f,%.2f\n", age, []string{"east", "north", "west"}[region], 4*float64(k)+r.NormFloat64(), 3*float64(k%2)+r.NormFloat64())
	}
	return text.String()
}
