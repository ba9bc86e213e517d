package command

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func grammar(t *testing.T, args ...string) *kong.Application {
	parser, err := newParser(new(commands), known, "latent", args)
	require.NoError(t, err)
	return parser.Model
}

// TestManualAndCompletionsHaveEveryFlag that --help shows.
func TestManualAndCompletionsHaveEveryFlag(t *testing.T) {
	page, _ := done(t, "man")
	for line := range strings.Lines(page) {
		assert.Regexp(t, `^(\.(TH|SH|SS|TP|PP|B|I)\b|[^.'])`, line)
	}
	scripts := map[string]string{}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		scripts[shell], _ = done(t, "completion", shell)
	}
	app := grammar(t)
	for _, command := range app.Children {
		assert.Contains(t, page, ".SS "+command.Name+" ")
		flags := slices.Concat(command.Flags, app.Flags)
		for _, name := range known.names() {
			for _, other := range grammar(t, "--model", name).Children {
				if other.Name == command.Name {
					flags = append(flags, other.Flags...)
				}
			}
		}
		for _, flag := range flags {
			assert.Contains(t, page, `\fB`+roff("--"+flag.Name)+`\fR`)
			assert.Regexp(t, `(?m)^\t`+command.Name+`\) flags='[^']*--`+flag.Name+`( |')`, scripts["bash"])
			assert.Contains(t, scripts["fish"], "'__fish_seen_subcommand_from "+command.Name+"' -l "+flag.Name+" ")
		}
	}
	assert.Contains(t, scripts["zsh"], scripts["bash"])
	fails(t, 2, "must be one of", "", "completion", "csh")
	stdout, _ := done(t, "--help")
	for _, command := range app.Children {
		assert.Regexp(t, `(?m)^  `+command.Name+`\s+\S`, stdout)
	}
}

// TestHelpNamesListsOnce: what is repeated is said by one ellipsis.
func TestHelpNamesListsOnce(t *testing.T) {
	for _, command := range []string{"fit", "select", "predict", "sample"} {
		stdout, _ := done(t, command, "--help")
		assert.NotRegexp(t, `…,?\.\.\.`, stdout)
	}
}

// TestHelpHasTheFlagsOfTheModel, and not those of others; flags of one name may differ.
func TestHelpHasTheFlagsOfTheModel(t *testing.T) {
	for model, flags := range map[string][3]string{"hmm": {"--sequence=COL", "--left-right=STATES", "--rotate"}, "factor": {"--rotate=NAME", "--noise=NAME", "--gate"},
		"mixture": {"--noise  ", "--gate=COL", "--loops"}, "vbmf": {"--center", "Centre the columns first.", "--start"}} {
		for _, command := range []string{"fit", "select"} {
			stdout, _ := done(t, command, "--help", "--model", model)
			_, own, found := strings.Cut(stdout, "Flags of --model "+model+":")
			require.True(t, found, stdout)
			assert.Contains(t, own, flags[0])
			assert.Contains(t, own, flags[1])
			assert.NotContains(t, stdout, flags[2])
		}
	}
	stdout, _ := done(t, "fit", "--help", "--model", "bpca")
	assert.NotContains(t, stdout, "Flags of --model")
}

// TestHelpIsAScreenWithAllNames: --help describes a dozen flags and names the others once, by topic; latent help
// describes all.
func TestHelpIsAScreenWithAllNames(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for _, command := range grammar(t).Children {
		short, _ := done(t, command.Name, "--help")
		whole, _ := done(t, "help", command.Name)
		assert.LessOrEqual(t, strings.Count(short, "\n"), 50, command.Name)
		for line := range strings.Lines(short + whole) {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 81, line)
		}
		if strings.Contains(short, "Further flags") {
			_, named, _ := strings.Cut(short, "\nFlags")
			_, described, _ := strings.Cut(whole, "\n\n")
			for _, flag := range command.Flags {
				assert.Len(t, regexp.MustCompile(`[ (]--`+flag.Name+`([=,\n]| {2})`).FindAllString(named, -1), 1, "%s --%s", command.Name, flag.Name)
				assert.Contains(t, described, "\n  "+spelled(flag), command.Name)
			}
		}
	}
	whole, _ := done(t, "help")
	top, _ := done(t, "--help")
	assert.Equal(t, top, whole)
}

// TestHelpOfAModel has its methods, families and flags, and the keys of its prior.
func TestHelpOfAModel(t *testing.T) {
	for _, name := range known.values() {
		page, _ := done(t, "help", name)
		m := known.models[known.resolve(name)]
		for _, method := range m.Methods {
			assert.Regexp(t, `(?m)^    `+method.Name+` +`+strings.ToLower(method.Criteria[0].Name), page)
			for _, key := range method.Prior {
				assert.Regexp(t, `\b`+key+`\b`, page)
			}
		}
		for _, flag := range known.flagsOfModel(m.Name) {
			assert.Contains(t, page, "  "+spelled(flag))
		}
	}
	page, _ := done(t, "help", "features")
	assert.Contains(t, page, "binary factors")
	page, _ = done(t, "help", "lca")
	assert.Contains(t, page, "--model lca is --model mixture --family categorical.")
}

// TestNamesOfTheField stand for flags and models, and change nothing else.
func TestNamesOfTheField(t *testing.T) {
	same := func(one, other string) {
		t.Helper()
		a, _ := done(t, strings.Fields(one+" --k 2 --format json")...)
		b, _ := done(t, strings.Fields(other+" --k 2 --format json")...)
		assert.Equal(t, withoutTime(a), withoutTime(b))
	}
	same("fit --data housevotes84 --model lca --n-init 2", "fit --data housevotes84 --model mixture --family categorical --restarts 2")
	same("fit --data iris --select Species,Sepal.Length --model=lca --covariates Sepal.Length",
		"fit --data iris --select Species,Sepal.Length --family categorical --gate Sepal.Length")
}

func withoutTime(text string) string {
	return regexp.MustCompile(`"seconds":[^,}]*`).ReplaceAllString(text, "")
}

func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	script, _ := done(t, "completion", "bash")
	for _, c := range []struct{ typed, want string }{
		{"latent f", "^fit$"},
		{"latent fit --fam", "^--family$"},
		{"latent fit --family gam", "^gamma$"},
		{"latent fit --family = gam", "^gamma$"},
		{"latent fit --data faith", "^faithful$"},
		{"latent select --criter", "^--criteria$"},
		{"latent completion z", "^zsh$"},
		{"latent predict completion.g", "^completion.go$"},
		{"latent sample m.json --gi", "^--given$"},
		{"latent help hm", "^hmm$"},
	} {
		complete := script + `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _latent; printf '%s\n' "${COMPREPLY[@]}"`
		out, err := exec.Command(bash, append([]string{"--norc", "-c", complete, "bash"}, strings.Fields(c.typed)...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Regexp(t, regexp.MustCompile(c.want), strings.TrimSpace(string(out)), c.typed)
	}
}
