//go:build amd64 && !amd64.v3 && !noasm

package command

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var keepGolden = flag.String("keep", "", "folder to write all files of the golden commands to, for diff -r between two versions")

// What comes before the numbers that the clock decides, in outputs and files, and those.
var clocks = regexp.MustCompile(`(?m)("seconds":|^time +|>time</th><td[^>]*>|>seconds</th><td[^>]*>)(<data .*</data>|[0-9e.+-]+)`)

// withoutTimes writes 0 in place of times.
func withoutTimes(text []byte) []byte { return clocks.ReplaceAll(text, []byte("${1}0")) }

// TestGoldenFits runs the commands of testdata/golden, which go over the models and methods, and compares all that they write with what
// is kept there, to the last bit: standard error and output as on a terminal, and of files the SHA-256. They hold refactorings to what
// was there before; a change that is meant to change outputs writes them anew, and its message says why:
//
//	go test ./internal/command -run TestGoldenFits -update
//
// The bits are those of the portable kernels on amd64, where the compiler fuses no multiplications and additions: the test runs itself
// as on a processor without AVX2. Each command names its criterion, so that defaults may change. With -keep DIR, diff -r compares the
// files of two versions.
//
// A file there begins with its commands, an empty line after them. In a command that begins with +, the + is the first one.
func TestGoldenFits(t *testing.T) {
	const portable = "cpu.avx512f=off,cpu.avx2=off"
	if os.Getenv("GODEBUG") != portable {
		if testing.Short() {
			t.Skip("many fits")
		}
		t.Parallel()
		again := exec.Command(os.Args[0], "-test.run", "^TestGoldenFits$", fmt.Sprintf("-update=%t", *updateDocs), "-keep", *keepGolden)
		again.Env = append(os.Environ(), "GODEBUG="+portable)
		said, err := again.CombinedOutput()
		require.NoError(t, err, string(said))
		require.Contains(t, string(said), "PASS")
		return
	}
	files, err := filepath.Glob("testdata/golden/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	tables, err := filepath.Glob("testdata/golden/*.csv")
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			path, err := filepath.Abs(file)
			require.NoError(t, err)
			kept, err := os.ReadFile(path)
			require.NoError(t, err)
			commands, shown, _ := strings.Cut(string(kept), "\n\n")
			dir := t.TempDir()
			for _, table := range tables {
				text, err := os.ReadFile(table)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(table)), text, 0o600))
			}
			t.Chdir(dir)
			t.Setenv("COLUMNS", "80")
			wrote := golden(t, strings.Split(commands, "\n"))
			for _, table := range tables {
				require.NoError(t, os.Remove(filepath.Base(table)))
			}
			wrote += sums(t, name)
			if *updateDocs {
				require.NoError(t, os.WriteFile(path, []byte(commands+"\n\n"+wrote), 0o644))
				return
			}
			was, now := strings.Split(shown, "\n"), strings.Split(wrote, "\n")
			require.Len(t, now, len(was), wrote)
			for i, line := range now {
				assert.Equal(t, was[i], line)
			}
		})
	}
}

// golden runs commands and returns what a terminal would show. The fields of a JSON object are lines.
func golden(t *testing.T, commands []string) string {
	var shown bytes.Buffer
	for _, line := range commands {
		if more, ok := strings.CutPrefix(line, "+ "); ok {
			line = commands[0] + " " + more
		}
		status, stdout, stderr := latent("", words(line)...)
		require.Zero(t, status, "%s: %s", line, stderr)
		fmt.Fprintf(&shown, "$ latent %s\n%s", line, stderr)
		if !strings.HasPrefix(stdout, "{") {
			shown.Write(withoutTimes([]byte(stdout)))
			continue
		}
		d := json.NewDecoder(bytes.NewReader(withoutTimes([]byte(stdout))))
		_, err := d.Token()
		require.NoError(t, err)
		for d.More() {
			key, err := d.Token()
			require.NoError(t, err)
			var value json.RawMessage
			require.NoError(t, d.Decode(&value))
			fmt.Fprintf(&shown, "%q: %s\n", key, value)
		}
	}
	return shown.String()
}

// sums are the checksums of the files in this folder, which are kept where -keep says.
func sums(t *testing.T, name string) string {
	var list strings.Builder
	list.WriteString("files\n")
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text = withoutTimes(text)
		fmt.Fprintf(&list, "%.16x %s\n", sha256.Sum256(text), filepath.ToSlash(path))
		if *keepGolden == "" {
			return nil
		}
		to := filepath.Join(*keepGolden, name, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	}))
	return list.String()
}
