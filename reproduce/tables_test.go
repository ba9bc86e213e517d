package reproduce

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A folder's tables with a column of classes take part, and others do not; what a fit finds is what the command says.
func TestTablesOfOnesOwn(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	write("own.csv", "x,y,Class\n1,2,a\n")
	write("other.csv", "x,y\n1,2\n")
	write("notes.txt", "class\n")
	tables, err := (&Settings{Quick: true, Data: dir}).knownTables()
	require.NoError(t, err)
	assert.Equal(t, []knownTable{embeddedClasses[0], embeddedClasses[1], {"own", filepath.Join(dir, "own.csv"), "Class"}},
		tables)
	if testing.Short() {
		t.Skip("builds the command")
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, latentCommand), "./cmd/latent")
	build.Dir = ".."
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	t.Setenv("PATH", dir)
	reports, err := Run(context.Background(), []*Experiment{tablesStudy()}, Options{Out: t.TempDir(), Quick: true, Data: dir})
	require.NoError(t, err)
	rows := reports[0].Outcome.Tables[0].Rows
	require.Len(t, rows, 3)
	assert.Equal(t, []string{"iris", "3", "VVV", "2", "0.568", "2", "0.568"}, rows[0][:7])
	assert.Equal(t, []string{"2", "0.568"}, rows[0][8:10])
	assert.Equal(t, "–", rows[2][2+1], "a table of one row has no fit")
}

// Without the command nothing is fitted, and the remark says what is missing.
func TestTablesNeedTheCommand(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	reports, err := Run(context.Background(), []*Experiment{tablesStudy()}, Options{Out: t.TempDir(), Quick: true})
	require.NoError(t, err)
	var missing *MissingData
	require.ErrorAs(t, reports[0].Err, &missing)
	assert.ErrorContains(t, missing, "the command latent is missing (it is not in a folder of PATH)")
}
