package text_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/latent-go/latent/report/text"
)

func TestProseIsBrokenBetweenWords(t *testing.T) {
	p := &text.Page{Width: 20}
	p.Prose(4, "one two three four five unbreakable-and-longer-than-a-line six")
	assert.Equal(t, "one two three four\n    five\n    unbreakable-and-longer-than-a-line\n    six\n", p.String())
}

func TestNamesInTablesAreShortAndHarmless(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"waiting", "waiting"},
		{"größe 温度", "größe 温度"},
		{"a\x1b[31m", `a\x1b[31m`},
		{"two\nlines", `two\nlines`},
		{strings.Repeat("x", 24), strings.Repeat("x", 24)},
		{strings.Repeat("x", 25), strings.Repeat("x", 23) + "…"},
	} {
		assert.Equal(t, c.want, text.Short(c.name))
	}
}
