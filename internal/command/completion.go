package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/tables"
)

// completionCommand writes what a shell needs to complete commands, flags and their values.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" placeholder:"SHELL" help:"bash, zsh or fish."`
}

// Help ends the output of latent completion --help.
func (*completionCommand) Help() string {
	return `In ~/.bashrc or ~/.zshrc: source <(latent completion bash), or zsh. Of fish: latent completion fish > ~/.config/fish/completions/latent.fish`
}

// Run writes the script.
func (c *completionCommand) Run(s *session, k *kong.Context) error {
	script := ""
	switch c.Shell {
	case "zsh":
		script = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" +
			bashCompletion(s.known, k.Model, s.name)
	case "bash":
		script = bashCompletion(s.known, k.Model, s.name)
	default:
		script = fishCompletion(s.known, k.Model, s.name)
	}
	_, err := s.stdout.Write([]byte(script))
	return err
}

// valuesOf are those that a flag can have; nil where they are anything, such as a file.
func valuesOf(flag *kong.Flag) []string {
	switch flag.Name {
	case "family":
		return families.Names()
	case "method":
		return methodNames
	case "criterion":
		var names []string
		for _, c := range framework.Criteria() {
			names = append(names, strings.ToLower(c.Name))
		}
		return names
	case "decimal":
		return []string{",", "."}
	case "data", "given":
		return tables.DatasetNames()
	}
	if flag.Enum == "" {
		return nil
	}
	return strings.Split(flag.Enum, ",")
}

// wordsOf are those that an argument can be.
func wordsOf(known *registry, app *kong.Application, command *kong.Node, arg *kong.Positional) []string {
	if command.Name == "help" {
		return known.topics(app)
	}
	return strings.FieldsFunc(arg.Enum, func(r rune) bool { return r == ',' })
}

// flagsOf are the flags of a command, with those of every command and, of each model, those that it alone has.
func flagsOf(known *registry, app *kong.Application, command *kong.Node) (list []*kong.Flag) {
	at := map[string]int{}
	add := func(flags []*kong.Flag) {
		for _, flag := range flags {
			place, there := at[flag.Name]
			switch {
			case flag.Hidden:
			case !there:
				at[flag.Name], list = len(list), append(list, flag)
			case valuesOf(list[place]) == nil: // perhaps this one has some
				list[place] = flag
			}
		}
	}
	add(slices.Concat(command.Flags, app.Flags))
	for _, name := range known.names() {
		if fits(command) {
			add(known.flagsOfModel(name))
		}
	}
	return list
}

// bashCompletion has cases of each command and each flag with known values; where there are none, names of files are
// completed.
func bashCompletion(known *registry, app *kong.Application, program string) string {
	var names []string
	var flags, values strings.Builder
	for _, command := range app.Children {
		names = append(names, command.Name)
		var list []string
		for _, flag := range flagsOf(known, app, command) {
			list = append(list, "--"+flag.Name)
			if of := valuesOf(flag); of != nil {
				fmt.Fprintf(&values, "\t'%s --%s') words='%s' ;;\n", command.Name, flag.Name, strings.Join(of, " "))
			}
		}
		for _, arg := range command.Positional {
			fmt.Fprintf(&values, "\t'%s %s') words='%s' ;;\n", command.Name, command.Name,
				strings.Join(wordsOf(known, app, command, arg), " "))
		}
		fmt.Fprintf(&flags, "\t%s) flags='%s' ;;\n", command.Name, strings.Join(list, " "))
	}
	return `_latent() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words= flags=
	if [ "$word" = = ]; then # --flag=
		word=
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD-2]}
	fi
	COMPREPLY=()
	case $command in
` + flags.String() + `	esac
	case "$command $before" in
` + values.String() + `	esac
	if [ "$COMP_CWORD" -eq 1 ]; then
		words='` + strings.Join(names, " ") + `'
	elif [ "${word#-}" != "$word" ]; then
		words=$flags
	fi
	local IFS=$' \t\n'
	COMPREPLY=($(compgen -W "$words" -- "$word"))
	case $before in
	--data | --given) words= ;;
	esac
	if [ -z "$words" ]; then
		IFS=$'\n'
		COMPREPLY+=($(compgen -f -- "$word"))
	fi
}
complete -o filenames -F _latent ` + program + "\n"
}

// fishCompletion has a line for each command, flag and list of values.
func fishCompletion(known *registry, app *kong.Application, program string) string {
	var b strings.Builder
	for _, command := range app.Children {
		fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -f -a %s -d %s\n", program, command.Name,
			fishQuoted(command.Help))
		for _, flag := range flagsOf(known, app, command) {
			line := fmt.Sprintf("complete -c %s -n '__fish_seen_subcommand_from %s' -l %s -d %s", program, command.Name,
				flag.Name, fishQuoted(flag.Help))
			switch of := valuesOf(flag); {
			case flag.Name == "data" || flag.Name == "given":
				line += " -ra " + fishQuoted(strings.Join(of, " "))
			case of != nil:
				line += " -xa " + fishQuoted(strings.Join(of, " "))
			case !flag.IsBool():
				line += " -r"
			}
			b.WriteString(line + "\n")
		}
		for _, arg := range command.Positional {
			if list := wordsOf(known, app, command, arg); list != nil {
				fmt.Fprintf(&b, "complete -c %s -n '__fish_seen_subcommand_from %s' -f -a %s\n", program, command.Name,
					fishQuoted(strings.Join(list, " ")))
			}
		}
	}
	return b.String()
}

// fishQuoted is the first sentence of a text, as fish takes it for one word.
func fishQuoted(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(strings.TrimSuffix(first, ".")) + "'"
}
