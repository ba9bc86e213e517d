package reproduce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/data"
)

// latentCommand makes the fits: what is studied is what it says.
const latentCommand = "latent"

// A knownTable is a table whose rows have known classes, in a column that fits leave out.
type knownTable struct{ name, data, column string }

// embeddedClasses are the tables of measurements and of codes that are shipped.
var embeddedClasses = []knownTable{
	{"iris", "iris", "Species"}, {"crabs", "crabs", "class"}, {"zoo", "zoo", "type"},
	{"housevotes84", "housevotes84", "Class"},
}

// classNames are the names, in any case, of a column of known classes in a table of one's own.
var classNames = []string{"class", "classes", "label", "species", "type", "status", "diagnosis"}

// knownTables are the embedded tables, and those of the folder of data that have a column of known classes.
func (s *Settings) knownTables() ([]knownTable, error) {
	list := slices.Clone(embeddedClasses[:s.seeds(len(embeddedClasses), 2)])
	if s.Data == "" {
		return list, nil
	}
	files, err := filepath.Glob(filepath.Join(s.Data, "*.csv"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		t, err := data.Open(file)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(t.Names, func(name string) bool { return slices.Contains(classNames, strings.ToLower(name)) })
		if at >= 0 {
			name := strings.TrimSuffix(filepath.Base(file), ".csv")
			list = append(list, knownTable{name, file, t.Names[at]})
		}
	}
	return list, nil
}

// tableFits are the flags of the fits of each table: of the default, and of that before structures were compared.
var tableFits = [][]string{nil, {"--family", "gaussian", "--cov", "full", "--criterion", "gfic"}}

// A tableFit is what a fit says, and the classes that it is compared with.
type tableFit struct {
	Classes, K, Groups int
	Covariance         string
	Index, GroupsIndex float64
	Seconds            float64
	Failed             string // why there is none
}

// fit makes a fit as the command latent does.
func (t knownTable) fit(ctx context.Context, flags []string) (f tableFit, err error) {
	args := append([]string{"fit", "--data", t.data, "--label", t.column, "--workers", "1", "--format", "json"}, flags...)
	run := exec.CommandContext(ctx, latentCommand, args...)
	var failed bytes.Buffer
	run.Stderr = &failed
	out, err := run.Output()
	switch {
	case ctx.Err() != nil:
		return f, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return f, err
	case err != nil:
		f.Failed = strings.TrimSpace(failed.String())
		return f, nil
	}
	f.Seconds = (run.ProcessState.UserTime() + run.ProcessState.SystemTime()).Seconds()
	var said struct {
		K         int
		Family    string
		Groups    [][]int
		Compared  []struct{ Covariance, Family string }
		Agreement struct {
			Labels []string
			Index  float64  `json:"adjusted_rand_index"`
			Groups *float64 `json:"groups_adjusted_rand_index"`
		}
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return f, err
	}
	f.Classes, f.K, f.Groups = len(said.Agreement.Labels), said.K, len(said.Groups)
	f.Index, f.GroupsIndex = said.Agreement.Index, said.Agreement.Index
	if said.Agreement.Groups != nil {
		f.GroupsIndex = *said.Agreement.Groups
	}
	if f.Covariance = said.Family; len(said.Compared) > 0 {
		f.Covariance = said.Compared[0].Covariance
		if said.Compared[0].Family == "student-t" {
			f.Covariance = "Student-t"
		}
	}
	return f, nil
}

func tablesStudy() *Experiment {
	return Define(Info{
		Name:   "tables",
		Title:  "What latent fit says of tables with known classes",
		Source: "Beyond the papers",
		About: "The embedded tables with known classes, and the CSV files of the folder of --data whose first line has a " +
			"column named " + strings.Join(classNames, ", ") + " (in any case): put your own tables there. Each is fitted by " +
			"`latent fit` without further flags, the column of the classes left out, and by `latent fit --family gaussian " +
			"--cov full --criterion gfic`, which was the default before structures were compared. Indices are adjusted Rand " +
			"indices beside the classes, seconds of processor time.",
		Revision: 1,
	}, func(s *Settings) (jobs []Job[tableFit], err error) {
		if _, err := exec.LookPath(latentCommand); err != nil {
			return nil, &MissingData{DataFile{"the command " + latentCommand, "go install ./cmd/latent puts it there"},
				"a folder of PATH"}
		}
		tables, err := s.knownTables()
		for i, t := range tables {
			for j, flags := range tableFits {
				jobs = append(jobs, Job[tableFit]{Key: fmt.Sprintf("table-%d-%d", i+1, j+1),
					Run: func(ctx context.Context) (tableFit, error) { return t.fit(ctx, flags) }})
			}
		}
		return jobs, err
	}, tablesConclude)
}

func tablesConclude(s *Settings, results []tableFit) (*Outcome, error) {
	tables, err := s.knownTables()
	if err != nil {
		return nil, err
	}
	table := Table{Name: "tables", Shown: true, About: "Each table: its classes, and by the default and by gFIC of full " +
		"covariances the components, their groups, the index of both, and seconds.",
		Header: []string{"table", "classes", "covariance", "K", "index", "groups", "index of groups", "seconds",
			"K by gFIC", "index by gFIC", "groups by gFIC", "index of groups by gFIC", "seconds by gFIC"}}
	var own, joined [2][]float64 // of the default, and by gFIC
	for _, t := range tables {
		row := []any{t.name, results[0].Classes}
		both := results[0].Failed == "" && results[1].Failed == ""
		for i, f := range results[:2] {
			if i == 0 {
				row = append(row, f.Covariance)
			}
			if f.Failed != "" {
				row = append(row, "–", "–", "–", "–", "–")
				continue
			}
			row = append(row, f.K, fmt.Sprintf("%.3f", f.Index), f.Groups, fmt.Sprintf("%.3f", f.GroupsIndex),
				fmt.Sprintf("%.1f", f.Seconds))
			if both {
				own[i], joined[i] = append(own[i], f.Index), append(joined[i], f.GroupsIndex)
			}
		}
		table.Add(row...)
		results = results[len(tableFits):]
	}
	mean := func(v []float64) float64 { return stat.Mean(v, nil) }
	return &Outcome{Tables: []Table{table}, Statements: []Statement{{
		Paper: fmt.Sprintf("On the %d tables that both can be fitted to, the default is no further from the classes than "+
			"full covariances by gFIC.", len(own[0])),
		Agrees: mean(own[0]) >= mean(own[1]), Central: true,
		Measured: fmt.Sprintf("mean index %.3f, %.3f by gFIC; of groups %.3f, %.3f", mean(own[0]), mean(own[1]),
			mean(joined[0]), mean(joined[1])),
	}}}, nil
}
