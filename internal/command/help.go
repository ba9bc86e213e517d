package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/report/text"
)

// helpCommand describes a command, or a model, in full.
type helpCommand struct {
	Topic string `arg:"" optional:"" placeholder:"COMMAND|MODEL" help:"A command, such as fit, or a value of --model, such as hmm. Default: the list of commands."`
}

// Run writes all flags of a command, where --help has the first ones.
func (c *helpCommand) Run(s *session, k *kong.Context) error {
	if _, is := s.known.models[s.known.resolve(c.Topic)]; is {
		return s.describeModel(c.Topic)
	}
	if topics := s.known.topics(k.Model); c.Topic != "" && !slices.Contains(topics, c.Topic) {
		return misused("%s help %s: no command and no model has that name: choose one of %s", s.name, c.Topic,
			strings.Join(topics, ", "))
	}
	args := []string{"--help"}
	if c.Topic != "" {
		args = []string{c.Topic, "--help"}
	}
	var failed error
	parser, err := newParser(new(commands), s.known, s.name, args, s.helping(true, &failed), kong.Exit(func(int) {}))
	if err != nil {
		return err
	}
	_, _ = parser.Parse(args) // after --help, it misses what else a command requires
	return failed
}

// topics are those of latent help: commands and models.
func (r *registry) topics(app *kong.Application) (names []string) {
	for _, command := range app.Children {
		names = append(names, command.Name)
	}
	return append(names, r.values()...)
}

// ownGroup is the group of the flags that one model alone has.
const ownGroup = "own"

// flagGroups are the topics of flags, in order.
func flagGroups(model string) []kong.Group {
	return []kong.Group{
		{Title: "Flags"},
		{Key: "table", Title: "Table and columns"},
		{Key: "model", Title: "Model"},
		{Key: ownGroup, Title: "Flags of --model " + model},
		{Key: "size", Title: "Number of components, criterion, prior"},
		{Key: "search", Title: "Search"},
		{Key: "large", Title: "Large data, long runs"},
		{Key: "output", Title: "Output"},
	}
}

// A flagSection is a group of flags.
type flagSection struct {
	kong.Group
	flags []*kong.Flag
}

// sectionsOf are flags by their groups.
func sectionsOf(flags []*kong.Flag) (list []flagSection) {
	for _, group := range flagGroups("") {
		one := flagSection{Group: group}
		for _, flag := range flags {
			if flag.Group == nil && group.Key == "" || flag.Group != nil && flag.Group.Key == group.Key {
				one.flags = append(one.flags, flag)
			}
		}
		if len(one.flags) == 0 {
			continue
		}
		if first := one.flags[0].Group; first != nil {
			one.Title = first.Title
		}
		list = append(list, one)
	}
	return list
}

// brief is what --help says of a flag that most people need, in a line; empty of others, which latent help describes.
func (s *session) brief(flag *kong.Flag) string {
	return strings.ReplaceAll(flag.Tag.Get("brief"), "${models}", strings.Join(s.known.values(), ", "))
}

// helping has the parser answer --help by [session.help], and keeps its error apart from those in the arguments.
func (s *session) helping(whole bool, failed *error) kong.Option {
	return kong.Help(func(_ kong.HelpOptions, c *kong.Context) error {
		*failed = s.help(c, whole)
		return nil
	})
}

// help writes the help of a command, or of the program: all of it, or of a command with many flags those that most
// people need, and the names of the others.
func (s *session) help(c *kong.Context, whole bool) error {
	p, command := s.page(), c.Selected()
	if command == nil {
		p.Prose(2, "Usage: %s%s", s.name, c.Model.Summary())
		p.Paragraph(c.Model.Help)
		p.Line("\nCommands:")
		for _, one := range c.Model.Children {
			p.Entry(12, one.Name, one.Help)
		}
		listFlags(p, flagSection{kong.Group{Title: "Flags of every command"}, c.Model.Flags})
		p.Paragraph(s.name + " help COMMAND describes a command, " + s.name + " help MODEL a model, such as hmm.")
		return s.show(p)
	}
	short := slices.ContainsFunc(command.Flags, func(f *kong.Flag) bool { return s.brief(f) != "" }) && !whole
	p.Prose(2, "Usage: %s %s", s.name, usageOf(command))
	p.Paragraph(command.Help)
	if example := command.Tag.Get("example"); example != "" {
		p.Prose(4, "Example: %s %s", s.name, example)
	}
	if !short {
		p.Paragraph(command.Detail)
	}
	if len(command.Positional) > 0 {
		p.Line("\nArguments:")
	}
	for _, arg := range command.Positional {
		p.Entry(wideName, arg.Tag.PlaceHolder, arg.Help)
	}
	if short {
		s.shortFlags(p, c, command)
	} else {
		for _, one := range sectionsOf(command.Flags) {
			listFlags(p, one)
		}
		p.Paragraph("Flags of every command: " + flagNames(c.Model.Flags) + " (" + s.name + " --help).")
	}
	if fits(command) {
		p.Paragraph(s.name + " help MODEL, such as hmm: its methods, criteria, priors and flags.")
	}
	return s.show(p)
}

// shortFlags are those that most people need, those of the model that is named, and the names of the others.
func (s *session) shortFlags(p *text.Page, c *kong.Context, command *kong.Node) {
	named := slices.ContainsFunc(c.Path, func(one *kong.Path) bool { return one.Flag != nil && one.Flag.Name == "model" })
	var own flagSection
	var others []flagSection
	p.Line("\nFlags that most people need:")
	for _, one := range sectionsOf(command.Flags) {
		var rest []*kong.Flag
		for _, flag := range one.flags {
			if text := s.brief(flag); text != "" {
				p.Entry(wideName, spelled(flag), text)
			} else {
				rest = append(rest, flag)
			}
		}
		switch {
		case one.Key == ownGroup && named:
			own = one
		case len(rest) > 0:
			others = append(others, flagSection{one.Group, rest})
		}
	}
	listFlags(p, own)
	p.Line("\nFurther flags, which %s help %s describes:", s.name, command.Name)
	for _, one := range append(others, flagSection{kong.Group{Title: "Every command"}, c.Model.Flags}) {
		p.Prose(4, "  %s: %s", one.Title, flagNames(one.flags))
	}
}

// describeModel writes what there is to know of a model before a fit.
func (s *session) describeModel(name string) error {
	p, of := s.page(), s.known.aliases[name]
	m := s.known.models[s.known.resolve(name)]
	p.Prose(2, "Usage: %s fit --model %s [flags]", s.name, name)
	p.Paragraph(m.Name + ": " + cmp.Or(m.About, m.Title) + ".")
	if of.model != "" {
		p.Prose(0, "--model %s is --model %s --family %s.", name, of.model, of.Family)
	}
	if example := cmp.Or(of.Example, m.Example); example != "" {
		p.Prose(4, "Example: %s fit --model %s --data %s", s.name, name, example)
	}
	p.Line("")
	if m.Families != nil {
		p.Entry(wideName, "--family", strings.Join(m.Families.Names(false), ", ")+".")
	}
	p.Entry(wideName, "--method", "The default comes first; beside each method are the criteria that score its fits.")
	for _, method := range m.Methods {
		p.Entry(wideName, "  "+method.Name, criterionNames(method))
	}
	for _, method := range m.Methods {
		if len(method.Prior) > 0 && m.Help == "" { // which explains them
			p.Entry(wideName, "--prior", "Of --method "+method.Name+": "+strings.Join(method.Prior, ", ")+".")
		}
	}
	p.Paragraph(m.Help)
	listFlags(p, flagSection{kong.Group{Title: "Flags of --model " + name}, s.known.flagsOfModel(m.Name)})
	p.Paragraph(s.name + " help fit has the flags of all models, which " + s.name + " select takes, too.")
	return s.show(p)
}

// criterionNames are the criteria of a method.
func criterionNames(method fitted.Method) string {
	names := func(list []framework.Criterion) string {
		var all []string
		for _, one := range list {
			all = append(all, strings.ToLower(one.Name))
		}
		return strings.Join(all, ", ")
	}
	text := names(slices.Concat(method.Criteria, method.Further))
	if len(method.Swept) > 0 {
		text += "; latent select: " + names(method.Swept)
	}
	return text + "."
}

// listFlags writes those of a section in full.
func listFlags(p *text.Page, of flagSection) {
	if len(of.flags) == 0 {
		return
	}
	p.Line("\n%s:", of.Title)
	for _, flag := range of.flags {
		p.Entry(wideName, spelled(flag), explained(flag))
	}
}

// spelled is a flag as it is written.
func spelled(flag *kong.Flag) string {
	name := "--" + flag.Name
	if flag.Short != 0 {
		name = "-" + string(flag.Short) + ", " + name
	}
	if !flag.IsBool() {
		name += "=" + placeholder(flag)
	}
	return name
}

// explained is what is said of a flag, with its other names.
func explained(flag *kong.Flag) string {
	text := flag.Help
	for _, name := range flag.Aliases {
		text += " Also --" + name + "."
	}
	return text
}

// placeholder stands for the value of a flag.
func placeholder(flag *kong.Flag) string {
	switch {
	case flag.PlaceHolder != "" && flag.IsSlice() && flag.Tag.Sep == ',':
		return flag.PlaceHolder + ",…"
	case flag.PlaceHolder != "":
		return flag.PlaceHolder
	case flag.HasDefault && flag.Default != "":
		return flag.Default
	}
	return strings.ToUpper(flag.Name)
}

// flagNames lists flags.
func flagNames(flags []*kong.Flag) string {
	var names []string
	for _, flag := range flags {
		names = append(names, "--"+flag.Name)
	}
	return strings.Join(names, ", ")
}

// wideName is the width of flags in a list of them.
const wideName = 24
