package command

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// checkGiven refuses values that a flag cannot have, of those that are given: an empty text where it names something,
// as shells make of a variable that is not set (the default in its place would be a surprise), and numbers outside of
// the range in the tag of its field.
func checkGiven(flags []*kong.Flag) error {
	for _, flag := range flags {
		value := reflect.Indirect(flag.Target)
		switch kind := value.Kind(); {
		case (kind == reflect.String || kind == reflect.Slice) && flag.Target.Kind() != reflect.Pointer && value.Len() == 0:
			return misused("--%s is empty: give it a value, or leave it out", flag.Name)
		case flag.Tag.Get("range") == "":
		case value.CanInt():
			if must := outside(flag.Tag.Get("range"), float64(value.Int()), ""); must != "" {
				return misused("--%s is %d; must be %s", flag.Name, value.Int(), must)
			}
		default:
			if must := outside(flag.Tag.Get("range"), value.Float(), " and finite"); must != "" {
				return misused("--%s is %v; must be %s", flag.Name, value.Float(), must)
			}
		}
	}
	return nil
}

// outside says what a number must be that is not in a range, such as [1,1000000] or (0,inf); empty of one that is.
// Numbers that may be infinite have a word for that they must not.
func outside(interval string, v float64, finite string) string {
	low, high, _ := strings.Cut(interval[1:len(interval)-1], ",")
	least, _ := strconv.ParseFloat(low, 64)
	most, _ := strconv.ParseFloat(high, 64)
	closed := interval[0] == '['
	if (v > least || v == least && closed) && v <= most && !math.IsInf(v, 0) {
		return ""
	}
	must, end := "at least "+low, finite
	switch {
	case least == 0 && closed:
		must = "non-negative"
	case least == 0:
		must = "positive"
	}
	if !math.IsInf(most, 1) {
		end = " and at most " + high
	}
	return must + end
}

// checkTags refuses flags that are given with another family or method than the tags of their fields name.
func (f *modelFlags) checkTags() error {
	for _, flags := range []any{f, f.Flags()} {
		v := reflect.ValueOf(flags).Elem()
		for _, field := range reflect.VisibleFields(v.Type()) {
			for _, one := range [][2]string{{"family", f.Family}, {"method", f.Method}} {
				needs, tagged := field.Tag.Lookup(one[0])
				if list := strings.Split(needs, ","); tagged && !slices.Contains(list, one[1]) &&
					!v.FieldByIndex(field.Index).IsZero() {
					is := one[1]
					if one[0] == "method" && f.byTable {
						is = "left to the table"
					}
					return misused("--%s requires --%s %s, and the %s is %s", flagName(field), one[0],
						strings.Join(list, " or "), one[0], is)
				}
			}
		}
	}
	return nil
}

// A role is what a flag has columns be.
type role struct {
	flag  string
	names []string
	aside bool // out of the table that is fitted
}

// checkRoles refuses columns with two roles, or named twice by one, and those that are left out all the same. A column
// of the gate may be a regressor too.
func (f *fittingFlags) checkRoles(label string) error {
	given, flag := f.Given()
	roles := []role{{"--weights", []string{f.Weights}, true}, {"--label", []string{label}, true},
		{"--sequence", []string{f.Sequence()}, true}, {"--known", []string{f.KnownColumn()}, true},
		{"--id", f.ID, true}, {flag, given, false}}
	if r := f.Explained(); r != nil {
		roles = append(roles, role{"--response", []string{r.Response}, false},
			role{"--trials or --exposure", []string{r.Over}, false}, role{"--regress", r.By, false})
	}
	flags := map[string]string{} // by column
	for _, one := range roles {
		for _, name := range one.names {
			switch other := flags[name]; {
			case name == "" || other == "--gate" && one.flag == "--regress":
			case other == one.flag:
				return misused("%s names column %q twice", one.flag, name)
			case other != "":
				return misused("column %q is named by %s and by %s: it cannot be both", name, other, one.flag)
			case slices.Contains(f.Drop, name) || one.aside && slices.Contains(f.Select, name):
				return misused("column %q is named by %s: it cannot be selected or dropped", name, one.flag)
			default:
				flags[name] = one.flag
			}
		}
	}
	return nil
}
