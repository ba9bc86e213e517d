package command

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/latent-go/latent/internal/roles"
)

// modelNamed is the value of --model in the arguments of a command, which decides what further flags there are.
func (r *registry) modelNamed(args []string) string {
	name := r.Registry[0].Name
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--model="); ok {
			name = value
		} else if arg == "--model" && i+1 < len(args) {
			name = args[i+1]
		}
	}
	return r.resolve(name)
}

// newParser makes the parser of all commands. Those that fit have the flags of the model that the arguments name.
func newParser(
	c *commands, known *registry, program string, args []string, options ...kong.Option,
) (*kong.Kong, error) {
	name := known.modelNamed(args)
	m, is := known.models[name]
	if !is { // which the parser refuses
		name = known.Registry[0].Name
		m = known.models[name]
	}
	for _, f := range []*modelFlags{&c.Fit.modelFlags, &c.Select.modelFlags} {
		f.known, f.Roles = known, roles.Of(m.settings())
		f.Plugins = kong.Plugins{f.Flags()}
	}
	return kong.New(c, append(options, kong.Name(program),
		kong.Description("Latent variable models that choose their own size."),
		kong.NamedMapper("model", modelFlag{known}),
		kong.WithHyphenPrefixedParameters(true), // --k -1 is about -1, and --na - about a dash
		kong.ExplicitGroups(flagGroups(name)))...)
}

// modelFlag is --model, whose texts alone have the names of models: kong expands each variable of the grammar anew for
// every flag.
type modelFlag struct{ known *registry }

func (modelFlag) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	return ctx.Scan.PopValueInto("string", target.Addr().Interface())
}

func (m modelFlag) Vars(*kong.Value) kong.Vars {
	return kong.Vars{"model": m.known.Registry[0].Name, "models": strings.Join(m.known.values(), ","),
		"titles": m.known.titles()}
}

// titles are the models for --help.
func (r *registry) titles() string {
	var list []string
	for _, d := range r.Registry {
		list = append(list, fmt.Sprintf("%s (%s)", d.Name, cmp.Or(d.About, d.Title)))
	}
	for name, of := range r.aliases {
		list = append(list, fmt.Sprintf("%s (%s, --model %s --family %s)", name, of.About, of.model, of.Family))
	}
	if last := len(list) - 1; last > 0 {
		list[last] = "or " + list[last]
	}
	return strings.Join(list, ", ")
}

// fits says whether a command has the flags of models.
func fits(command *kong.Node) bool { return command.Name == "fit" || command.Name == "select" }

// flagFields are the fields of the settings of a model by their flags.
func flagFields(m model) map[string]reflect.StructField {
	return flagFieldsOf(reflect.TypeOf(m.settings()).Elem())
}

func flagFieldsOf(t reflect.Type) map[string]reflect.StructField {
	list := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(t) {
		if !field.Anonymous && field.IsExported() {
			list[flagName(field)] = field
		}
	}
	return list
}

// modelsWith are the models that have a flag which not all have, and that take a value for it where one is given.
func (r *registry) modelsWith(flag, value string) (names []string) {
	for name, m := range r.models {
		field, has := flagFields(m)[flag]
		if !has && flag != "" {
			field, has = byAlias(flagFields(m), flag)
		}
		if has && (value == "" || slices.Contains(strings.Split(field.Tag.Get("enum"), ","), value)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// byAlias is the field that has a flag for another name.
func byAlias(fields map[string]reflect.StructField, flag string) (field reflect.StructField, has bool) {
	for _, field := range fields {
		if slices.Contains(strings.Split(field.Tag.Get("aliases"), ","), flag) {
			return field, true
		}
	}
	return field, false
}

// flagsOfModel are the flags that a model has beyond those of all.
func (r *registry) flagsOfModel(name string) (list []*kong.Flag) {
	parser, err := newParser(new(commands), r, "", []string{"--model=" + name})
	if err != nil {
		panic(err) // which a test would have seen
	}
	for _, flag := range parser.Model.Children[0].Flags {
		if flag.Group != nil && flag.Group.Key == ownGroup {
			list = append(list, flag)
		}
	}
	return list
}
