package command

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"
)

// manCommand writes the manual page, for packages and releases.
type manCommand struct{}

// Run writes the page latent(1), of the help that latent --help has.
func (*manCommand) Run(s *session, c *kong.Context) error {
	_, err := s.stdout.Write([]byte(manual(s.known, c.Model)))
	return err
}

// manual is the page in roff, of the macros of man.
func manual(known *registry, app *kong.Application) string {
	var p strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&p, format+"\n", args...) }
	put(".TH LATENT 1")
	put(".SH NAME\nlatent \\- %s", roff(strings.TrimSuffix(strings.ToLower(app.Help[:1])+app.Help[1:], ".")))
	put(".SH SYNOPSIS\n.B latent\n.I command\n[\\fIflags\\fR]")
	put(".SH DESCRIPTION\n%s Results go to standard output, as text or as JSON (\\-\\-format json). Standard error "+
		"has one line for an error, one for each remark on data and fits and, on a terminal, the progress.", roff(app.Help))
	put(".SH COMMANDS")
	for _, command := range app.Children {
		put(".SS %s", roff(usageOf(command)))
		put("%s", roff(command.Help))
		if command.Detail != "" {
			put(".PP\n%s", roff(command.Detail))
		}
		for _, arg := range command.Positional {
			put(".TP\n\\fI%s\\fR\n%s", roff(arg.Tag.PlaceHolder), roff(arg.Help))
		}
		for _, one := range sectionsOf(command.Flags) {
			if one.Key == ownGroup {
				continue
			}
			if one.Key != "" {
				put(".PP\n%s:", roff(one.Title))
			}
			for _, flag := range one.flags {
				putFlag(put, flag)
			}
		}
	}
	for _, name := range known.names() {
		flags, help := known.flagsOfModel(name), known.models[name].Help
		if help == "" && len(flags) == 0 {
			continue
		}
		put(".SH LATENT FIT AND SELECT \\-\\-MODEL %s\n%s", roff(strings.ToUpper(name)), roff(help))
		for _, flag := range flags {
			putFlag(put, flag)
		}
	}
	put(".SH FLAGS OF EVERY COMMAND")
	for _, flag := range app.Flags {
		putFlag(put, flag)
	}
	put(".SH ENVIRONMENT\n.TP\nCOLUMNS\nWidth of text. Default: that of the terminal, or 80.")
	put(".SH EXIT STATUS\n0 when done, 1 when data or fit failed, 2 when the command was used wrongly.")
	return p.String()
}

func putFlag(put func(format string, args ...any), flag *kong.Flag) {
	if flag.Hidden {
		return
	}
	name := `\fB` + roff("--"+flag.Name) + `\fR`
	if flag.Short != 0 {
		name = `\fB` + roff("-"+string(flag.Short)) + `\fR, ` + name
	}
	if !flag.IsBool() {
		name += "=" + `\fI` + roff(placeholder(flag)) + `\fR`
	}
	put(".TP\n%s\n%s", name, roff(explained(flag)))
}

// usageOf is a command with its arguments.
func usageOf(command *kong.Node) string {
	words := []string{command.Name}
	for _, arg := range command.Positional {
		words = append(words, arg.Tag.PlaceHolder)
	}
	for _, flag := range command.Flags {
		if flag.Required {
			words = append(words, spelled(flag))
		}
	}
	return strings.Join(append(words, "[flags]"), " ")
}

// roff is a text that has no meaning to the formatter.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(strings.Join(strings.Fields(text), " "))
	var b strings.Builder
	for i, r := range text {
		switch {
		case i == 0 && (r == '.' || r == '\''):
			b.WriteString(`\&` + string(r))
		case r > unicode.MaxASCII: // whatever encoding the formatter reads
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
