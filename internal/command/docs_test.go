package command

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var updateDocs = flag.Bool("update", false, "write the outputs of their commands into the pages of docs and into README.md")

// The pages whose commands are run, in order, each in a folder of its own.
var pages = []string{"../../README.md", "../../docs/tutorials/*.md", "../../docs/guides/*.md"}

// TestCommandsOfTheDocs runs every command in a block of the language console and compares what the page shows with what
// the command writes: standard error first, then standard output. Words must be the same, numbers agree in the digits
// shown; times and numbers of iterations are the machine's. What follows the prompt is run in this process, or is a script
// that its interpreter runs, through the filters head, tail, sed -n and grep, and > FILE. A comment <!-- file NAME -->
// before a block writes it to a file first, and <!-- slow --> leaves the rest of a page out with -short.
//
//	go test ./internal/command -run TestCommandsOfTheDocs -update
//
// writes those that differ anew.
func TestCommandsOfTheDocs(t *testing.T) {
	var files []string
	for _, pattern := range pages {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	for _, file := range files {
		path, err := filepath.Abs(file)
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if !strings.Contains(string(text), "```console\n") {
			continue
		}
		t.Run(strings.TrimPrefix(filepath.ToSlash(file), "../../"), func(t *testing.T) {
			clone, err := filepath.Abs("../..")
			require.NoError(t, err)
			t.Chdir(t.TempDir())
			for _, folder := range []string{"docs", "models"} { // whose files pages may name, as in a clone
				require.NoError(t, os.Symlink(filepath.Join(clone, folder), folder))
			}
			installed(t)
			now := runPage(t, string(text))
			if *updateDocs && now != string(text) {
				require.NoError(t, os.WriteFile(path, []byte(now), 0o644))
			}
		})
	}
}

// Every page links to files that there are.
func TestLinksOfTheDocs(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	for path, text := range markdown(t) {
		for _, link := range links.FindAllStringSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(path), link[1]))
			assert.NoError(t, err, path)
		}
	}
}

// asCommand makes the binary of these tests the command, for scripts that start it.
const asCommand = "LATENT_TESTS_RUN_THE_COMMAND"

func init() {
	if os.Getenv(asCommand) != "" {
		os.Exit(run(informed(context.Background()), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
}

// installed puts the command on the path of the processes that a test starts.
func installed(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "latent")))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(asCommand, "yes")
}

// Scripts of the pages, by how a line begins that runs one, and what the interpreter has to have; a line is left out where it
// has not. LATENT_PYTHON names another python3.
var scripts = map[string][]string{
	"python3 docs/guides/scripts/with_scikit_learn.py": {"-c", "import pandas; from latent import LatentMixture"},
	"python3 docs/guides/scripts/fit_and_predict.py":   {"-c", ""},
	"Rscript docs/guides/scripts/fit_and_predict.R":    {"-e", "library(jsonlite)"},

	"sh docs/guides/scripts/every_night.sh monday.csv nightly --drop component": {"-c", "true"},
	"sh docs/guides/scripts/every_night.sh tuesday.csv":                         {"-c", "true"},
	"sh docs/guides/scripts/every_night.sh wednesday.csv":                       {"-c", "true"},
}

// script runs a script; ok is false where its interpreter is not at hand.
func script(t *testing.T, line string) (stdout, stderr string, ok bool) {
	needs, known := scripts[line]
	require.True(t, known, "a page has a command that is not run here: %s", line)
	words := words(line)
	if other := os.Getenv("LATENT_PYTHON"); other != "" && words[0] == "python3" {
		words[0] = other
	}
	if err := exec.CommandContext(t.Context(), words[0], needs...).Run(); err != nil {
		t.Logf("left out: %s: %v", line, err)
		return "", "", false
	}
	var out, errs bytes.Buffer
	command := exec.CommandContext(t.Context(), words[0], words[1:]...)
	command.Stdout, command.Stderr = &out, &errs
	require.NoError(t, command.Run(), "%s: %s", line, &errs)
	return out.String(), errs.String(), true
}

var (
	fenced  = regexp.MustCompile("(?s)(?:<!-- ([a-z]+)(?: (\\S+))? -->\n)?```([a-z]*)\n(.*?)```")
	prompts = regexp.MustCompile(`(?m)^\$ `)
)

// runPage runs the commands of a page and returns it with their outputs.
func runPage(t *testing.T, page string) string {
	var now strings.Builder
	end := 0
	for _, at := range fenced.FindAllStringSubmatchIndex(page, -1) {
		part := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return page[at[2*i]:at[2*i+1]]
		}
		if part(1) == "slow" && testing.Short() {
			break
		}
		if part(1) == "file" {
			require.NoError(t, os.WriteFile(part(2), []byte(part(4)), 0o600))
		}
		if part(3) == "console" {
			now.WriteString(page[end:at[8]])
			now.WriteString(runBlock(t, part(4)))
			end = at[9]
		}
	}
	return now.String() + page[end:]
}

// runBlock runs the commands of a block and returns it with their outputs.
func runBlock(t *testing.T, block string) string {
	var now strings.Builder
	for _, one := range prompts.Split(block, -1)[1:] {
		command, shown, _ := strings.Cut(one, "\n")
		for strings.HasSuffix(command, `\`) {
			var next string
			next, shown, _ = strings.Cut(shown, "\n")
			command += "\n" + next
		}
		wrote, ok := shell(t, strings.ReplaceAll(command, "\\\n", " "))
		if difference := differ(shown, wrote); ok && difference != "" {
			assert.True(t, *updateDocs, "$ %s\nshows otherwise on the page: %s\nand writes\n%s", command, difference, wrote)
			shown = wrote
		}
		now.WriteString("$ " + command + "\n" + shown)
	}
	return now.String()
}

// shell runs a command line and returns what a terminal would show, with plain spaces, and none at the ends of lines; ok is
// false where a script cannot be run here.
func shell(t *testing.T, line string) (shown string, ok bool) {
	line, to, redirected := strings.Cut(line, " > ")
	stages := strings.Split(line, " | ")
	words := words(stages[0])
	require.NotEmpty(t, words)
	var stdout, stderr string
	switch words[0] {
	case "latent":
		var status int
		status, stdout, stderr = latent("", words[1:]...)
		require.Zero(t, status, "%s: %s", line, stderr)
	case "cat":
		text, err := os.ReadFile(words[1])
		require.NoError(t, err)
		stdout = string(text)
	default:
		if stdout, stderr, ok = script(t, stages[0]); !ok {
			return "", false
		}
	}
	for _, stage := range stages[1:] {
		stdout = filter(t, stdout, stage)
	}
	if redirected {
		require.NoError(t, os.WriteFile(strings.TrimSpace(to), []byte(stdout), 0o600))
		stdout = ""
	}
	text := strings.ReplaceAll(stderr+stdout, "\u00a0", " ") // which a terminal shows likewise
	return regexp.MustCompile(`(?m) +$`).ReplaceAllString(text, ""), true
}

// words are those of a command line, without its quotes.
func words(line string) (list []string) {
	for _, word := range regexp.MustCompile(`(?:[^\s']|'[^']*')+`).FindAllString(line, -1) {
		list = append(list, strings.ReplaceAll(word, "'", ""))
	}
	return list
}

// filter is a stage of a pipe.
func filter(t *testing.T, text, stage string) string {
	lines, args := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n"), words(stage)
	switch args[0] {
	case "head", "tail":
		n, err := strconv.Atoi(strings.TrimPrefix(args[len(args)-1], "-"))
		require.NoError(t, err)
		if n = min(n, len(lines)); args[0] == "head" {
			lines = lines[:n]
		} else {
			lines = lines[len(lines)-n:]
		}
	case "sed":
		lines = sedRange(t, lines, args[2])
	case "grep":
		pattern := regexp.MustCompile(args[len(args)-1])
		var kept []string
		for _, line := range lines {
			if pattern.MatchString(line) {
				kept = append(kept, line)
			}
		}
		lines = kept
	default:
		require.Fail(t, "a page has a filter that is not known here", stage)
	}
	return strings.TrimSuffix(strings.Join(lines, ""), "\n") + "\n"
}

// sedRange is sed -n RANGE, of the form 3,7p or /PATTERN/,/PATTERN/p.
func sedRange(t *testing.T, lines []string, text string) []string {
	var first, last int
	if _, err := fmt.Sscanf(text, "%d,%dp", &first, &last); err == nil {
		return lines[min(first-1, len(lines)):min(last, len(lines))]
	}
	parts := regexp.MustCompile(`^/(.*)/,/(.*)/p$`).FindStringSubmatch(text)
	require.NotNil(t, parts, "a page has a range that is not known here: %s", text)
	begin, end := regexp.MustCompile(parts[1]), regexp.MustCompile(parts[2])
	var kept []string
	for _, line := range lines {
		switch line := strings.TrimSuffix(line, "\n"); {
		case len(kept) == 0 && !begin.MatchString(line):
			continue
		case len(kept) > 0 && end.MatchString(line):
			return append(kept, line+"\n")
		}
		kept = append(kept, line)
	}
	return kept
}

// What depends on the machine, and layout that follows from it.
var ofMachine = regexp.MustCompile(`(?m)(^time +|"seconds": ?|^\s*)(\d+(\.\d+)?(e-\d+)?)( m?s)|(after )\d+( iterations)`)

var numerals = regexp.MustCompile(`[-−+]?\d+(?:\.\d+)?(?:e[-+]\d+)?`)

// differ says how what a command wrote differs from what a page shows; "" if it does not.
func differ(shown, wrote string) string {
	plain := func(text string) (words string, numbers []string) {
		text = ofMachine.ReplaceAllString(text, "$1$6 $7")
		layout := regexp.MustCompile(`[─\s]+`).ReplaceAllString(numerals.ReplaceAllString(text, "#"), " ")
		return strings.TrimSpace(layout), numerals.FindAllString(text, -1)
	}
	page, numbers := plain(shown)
	now, measured := plain(wrote)
	if page != now {
		return "other words"
	}
	for i, text := range numbers {
		if want, got := numberOf(text), numberOf(measured[i]); !(math.Abs(want-got) <= 1.01*digit(text)) {
			return fmt.Sprintf("%s, not %s", text, measured[i])
		}
	}
	return ""
}

func numberOf(text string) float64 {
	v, err := strconv.ParseFloat(strings.Replace(text, "−", "-", 1), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// digit is the value of one in the last digit of a number, or in the fifth of one with ten digits and more, which nobody
// reads to the end; whole numbers have none to differ by.
func digit(number string) float64 {
	mantissa, exponent, _ := strings.Cut(number, "e")
	whole, decimals, fraction := strings.Cut(mantissa, ".")
	if !fraction {
		return 0
	}
	power, _ := strconv.Atoi(exponent)
	if len(strings.TrimLeft(whole+decimals, "-+0")) >= 10 {
		return 1e-4 * math.Abs(numberOf(number))
	}
	return math.Pow(10, float64(power-len(decimals)))
}

func TestNumbersOfTheDocsAreComparedInTheDigitsShown(t *testing.T) {
	for _, c := range []struct {
		shown, wrote string
		same         bool
	}{
		{"gfic -1166.423 nats\ntime 0.1 s\n", "gfic   -1166.424 nats\ntime   22.3 s\n", true},
		{"gfic -1166.423\n", "gfic -1166.425\n", false},
		{"0.16245471278621797\n", "0.16245571278621797\n", true},
		{"0.16245471278621797\n", "0.16255471278621797\n", false},
		{"component 2\n", "component 3\n", false},
		{"0.6441 175.2 4.29 ± 0.412\n", "0.6441 175.2 4.29 ± 0.412\n", true},
		{"0.6441 of\n", "0.6441 for\n", false},
		{"converged after 135 iterations\n", "converged after 136 iterations\n", true},
	} {
		assert.Equal(t, c.same, differ(c.shown, c.wrote) == "", "%q, %q", c.shown, c.wrote)
	}
}

// Every command that a page names, in a block or within a sentence, has a subcommand and flags that there are. What a page
// leaves out, such as the name of a file, is no error.
func TestCommandsThatDocsNameHaveTheirFlags(t *testing.T) {
	named := regexp.MustCompile("(?m)(?:^(?:\\$ |    )?|`)(?:go run \\./cmd/)?latent ((?:fit|select|predict|sample|datasets) [^`\n]*)")
	end := regexp.MustCompile(`\s+(#|>|\||\\|…|·|;).*$`)
	count := 0
	for path, text := range markdown(t) {
		for _, found := range named.FindAllStringSubmatch(text, -1) {
			var all commands
			line := strings.NewReplacer("[", "", "]", "").Replace(end.ReplaceAllString(found[1], ""))
			parser, err := newParser(&all, known, "latent", words(line), kong.Exit(func(int) {}))
			require.NoError(t, err)
			if _, err = parser.Parse(words(line)); err != nil {
				assert.NotContains(t, err.Error(), "unknown flag", "%s: latent %s", path, found[1])
			}
			count++
		}
	}
	assert.Greater(t, count, 100)
}

// markdown are the texts of all pages, by their paths.
func markdown(t *testing.T) map[string]string {
	texts := map[string]string{}
	for _, root := range []string{"../../README.md", "../../CONTRIBUTING.md", "../../docs"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".md" {
				return err
			}
			text, err := os.ReadFile(path)
			texts[path] = string(text)
			return err
		}))
	}
	return texts
}

// Tools find what a service imports and calls by a line of the guide.
func TestGuideToServicesHasTheLineForTools(t *testing.T) {
	assert.Contains(t, "\n"+contents(t, "../../docs/guides/service.md"), "\nservice: github.com/latent-go/latent/builtin Load LogProb\n")
}
