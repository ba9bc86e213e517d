package command

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRangesAreSaid in the words of their ends, which belong to them or do not.
func TestRangesAreSaid(t *testing.T) {
	for _, c := range []struct {
		interval string
		v        float64
		want     string
	}{
		{"[1,inf)", 1, ""}, {"[1,inf)", 0, "at least 1"}, {"[1,9]", 9, ""}, {"[1,9]", 10, "at least 1 and at most 9"}, {"[1,9]", 0, "at least 1 and at most 9"},
		{"(0,1]", 1, ""}, {"(0,1]", 0, "positive and at most 1"}, {"(0,1]", math.NaN(), "positive and at most 1"}, {"[0,inf)", 0, ""}, {"[0,inf)", -1, "non-negative"},
		{"(0,inf)", math.Inf(1), "positive"}, {"(0,inf)", 1e-300, ""},
	} {
		assert.Equal(t, c.want, outside(c.interval, c.v, ""), "%v in %s", c.v, c.interval)
	}
	assert.Equal(t, "positive and finite", outside("(0,inf)", math.Inf(1), " and finite"))
}

// A flag that requires a family or a method names those that a model with the flag has.
func TestTagsNameWhatModelsHave(t *testing.T) {
	tagged := 0
	for name, m := range known.models {
		for flag, field := range flagFields(m) {
			for what, has := range map[string][]string{"family": m.Families.Names(false), "method": m.methods} {
				needs, is := field.Tag.Lookup(what)
				if !is {
					continue
				}
				tagged++
				for one := range strings.SplitSeq(needs, ",") {
					require.Contains(t, has, one, "--%s of %s", flag, name)
				}
			}
		}
	}
	require.GreaterOrEqual(t, tagged, 4)
}
