package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/lockfile"
)

const smallTable = "a,b,c\n1,2,3\n4,5,6\n7,8,1\n2,2,2\n9,1,1\n"

// smallModel fits smallTable and returns the paths of both.
func smallModel(t *testing.T) (table, model string) {
	t.Helper()
	table = file(t, "own.csv", smallTable)
	model = filepath.Join(filepath.Dir(table), "m.json")
	done(t, "fit", "--model", "bpca", "--data", table, "--k", "1", "--out", model)
	return table, model
}

func contents(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestOutNeverReplacesAnInput(t *testing.T) {
	table, model := smallModel(t)
	saved := contents(t, model)
	dir := t.TempDir()
	linked, hard, linkedModel := filepath.Join(dir, "soft.csv"), filepath.Join(filepath.Dir(table), "hard.csv"), filepath.Join(dir, "soft.json")
	require.NoError(t, os.Symlink(table, linked))
	require.NoError(t, os.Link(table, hard))
	require.NoError(t, os.Symlink(model, linkedModel))
	for _, out := range []string{table, linked, hard} {
		fails(t, 2, "--out is the input", "", "fit", "--model", "bpca", "--data", table, "--out", out)
		fails(t, 2, "--out is the input", "", "predict", model, "--data", table, "--out", out)
		fails(t, 2, "--out is the input", "", "predict", model, "--data", out, "--out", table)
	}
	for _, out := range []string{model, linkedModel} {
		fails(t, 2, "--out is the input", "", "predict", model, "--data", table, "--out", out)
		fails(t, 2, "--out is the input", "", "sample", model, "-n", "3", "--out", out)
	}
	stdin, err := os.Open(table)
	require.NoError(t, err)
	defer stdin.Close() //nolint:errcheck // nothing was written
	var out, errs bytes.Buffer
	assert.Equal(t, 2, run(informed(context.Background()), []string{"predict", model, "--data", "-", "--out", table}, stdin, &out, &errs))
	assert.Contains(t, errs.String(), "--out is the input")
	assert.Equal(t, smallTable, contents(t, table))
	assert.Equal(t, saved, contents(t, model))

	// An embedded data set is no file, even where one has its name.
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("iris", nil, 0o600))
	done(t, "fit", "--model", "bpca", "--data", "iris", "--k", "1", "--out", "iris")
}

func TestOutRespectsAFileThatCannotBeWritten(t *testing.T) {
	path := file(t, "p.csv", "old")
	require.NoError(t, os.Chmod(path, 0o400))
	if os.Geteuid() == 0 { // root may write all files but a program that runs
		var err error
		path, err = os.Executable()
		require.NoError(t, err)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			require.NoError(t, f.Close())
			t.Skip("this system lets root write everything")
		}
	}
	before, err := os.Stat(path)
	require.NoError(t, err)
	_, model := smallModel(t)
	fails(t, 1, "cannot write", "", "fit", "--model", "bpca", "--data", "iris", "--out", path)
	fails(t, 1, "cannot write", "", "sample", model, "-n", "3", "--out", path)
	fails(t, 1, "cannot write", "", "predict", model, "--data", file(t, "d.csv", smallTable), "--out", path)
	after, err := os.Stat(path)
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
	assert.Equal(t, before.Size(), after.Size())
}

// Two commands that were to write one file would each promise it, and the slower one would win.
func TestAFileThatAnotherCommandWritesIsRefused(t *testing.T) {
	_, model := smallModel(t)
	fit := []string{"fit", "--model", "bpca", "--data", "iris", "--k", "1"}
	for _, flag := range []string{"--out", "--assignments", "--checkpoint", "--report"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "taken")
		claimed := path
		if flag == "--report" {
			claimed = filepath.Join(path, "index.html")
		}
		release, err := lockfile.Claim(claimed)
		require.NoError(t, err)
		fails(t, 1, flag+": "+claimed+" is being written by process "+strconv.Itoa(os.Getpid()), "", append(fit, flag, path)...)
		release()
		done(t, append(fit, flag, path)...)
		_, err = os.Stat(filepath.Join(dir, "taken"))
		assert.Equal(t, flag == "--checkpoint", os.IsNotExist(err))
		left, err := filepath.Glob(filepath.Join(dir, ".latent-*"))
		require.NoError(t, err)
		assert.Empty(t, left)
	}
	done(t, "sample", model, "-n", "3", "--out", os.DevNull) // no file, and no lock beside it
}

func TestOutKeepsTheModeOfAFile(t *testing.T) {
	_, model := smallModel(t)
	for _, mode := range []os.FileMode{0o600, 0o640, 0o666, 0o755} {
		path := file(t, "p.csv", "old")
		require.NoError(t, os.Chmod(path, mode))
		done(t, "sample", model, "-n", "3", "--out", path)
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm())
		assert.True(t, strings.HasPrefix(contents(t, path), "a,b,c\n"))
	}
}

func TestOutFollowsLinksToWhatIsNotThereYet(t *testing.T) {
	_, model := smallModel(t)
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "real", "deep"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join("real", "deep"), filepath.Join(dir, "alias")))
	require.NoError(t, os.Symlink(filepath.Join("..", "second"), filepath.Join(dir, "real", "deep", "first"))) // .. of real/deep, not of alias
	require.NoError(t, os.Symlink("new.csv", filepath.Join(dir, "real", "second")))
	link := filepath.Join(dir, "alias", "first")
	done(t, "sample", model, "-n", "3", "--out", link)
	assert.True(t, strings.HasPrefix(contents(t, filepath.Join(dir, "real", "new.csv")), "a,b,c\n"))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink)

	astray := filepath.Join(dir, "astray")
	require.NoError(t, os.Symlink(filepath.Join(dir, "none", "new.csv"), astray))
	fails(t, 1, "cannot write", "", "sample", model, "-n", "3", "--out", astray)
	circle := filepath.Join(dir, "circle")
	require.NoError(t, os.Symlink("circle", circle))
	fails(t, 1, "circle", "", "sample", model, "-n", "3", "--out", circle)
}

func TestOutDashIsStandardOutput(t *testing.T) {
	table, model := smallModel(t)
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"predict", model, "--data", table}, {"sample", model, "-n", "3"}} {
		want, _ := done(t, args...)
		got, _ := done(t, append(args, "--out", "-")...)
		assert.Equal(t, want, got)
	}
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, left)
}

// full is a device without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestAResultThatCannotBeWrittenIsOneLine(t *testing.T) {
	_, model := smallModel(t)
	gaps := file(t, "gaps.csv", smallTable+"1,,2\n")
	for _, args := range [][]string{
		{"--help"},
		{"fit", "--model", "bpca", "--help"},
		{"fit", "--model", "bpca"}, // it would note that it left out the labels
		{"fit", "--model", "bpca", "--data", gaps, "--missing", "drop", "--format", "json"},
		{"select", "--model", "bpca", "--data", "iris"},
		{"predict", model, "--data", gaps, "--missing", "drop"},
		{"predict", model, "--data", gaps, "--missing", "drop", "--format", "json"},
		{"sample", model, "-n", "3"},
		{"datasets"},
		{"version"},
	} {
		var errs bytes.Buffer
		assert.Equal(t, 1, run(informed(context.Background()), args, strings.NewReader(""), full{}, &errs), "%v", args)
		assert.Equal(t, "latent: no space left on device\n", errs.String(), "%v", args)
	}
}

func TestQuietAndLogAreForScripts(t *testing.T) {
	table := file(t, "d.csv", customers(30))
	plain, remarks := done(t, "fit", "--data", table, "--family", "auto", "--k", "1")
	require.Contains(t, remarks, "left out")
	quiet, stderr := done(t, "fit", "--quiet", "--data", table, "--family", "auto", "--k", "1")
	assert.Empty(t, stderr)
	assert.Equal(t, strings.Split(plain, "time")[0], strings.Split(quiet, "time")[0])
	fails(t, 1, "no such file", "", "fit", "--quiet", "--data", "nothing.csv")

	_, stderr = done(t, "fit", "--log", "json", "--data", table, "--family", "auto", "--k", "1")
	assert.Equal(t, strings.Count(remarks, "\n"), strings.Count(stderr, "\n"))
	status, _, failure := latent("", "fit", "--log", "json", "--data", "nothing.csv")
	assert.Equal(t, statusFailed, status)
	for line := range strings.Lines(stderr + failure) {
		var entry struct{ Time, Level, Msg string }
		require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
		assert.Contains(t, []string{"WARN", "ERROR"}, entry.Level)
		assert.NotEmpty(t, entry.Msg)
	}
	_, stderr = done(t, "fit", "--log", "text", "--data", table, "--family", "auto", "--k", "1")
	assert.Contains(t, stderr, "level=WARN msg=")
	fails(t, 2, "can't be used together", "", "fit", "--quiet", "--log", "json")
}
