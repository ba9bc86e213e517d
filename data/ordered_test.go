package data

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOrderOfTexts(t *testing.T) {
	for _, text := range []string{
		"low|Medium|HIGH", "never|rarely|sometimes|often|always", "Strongly disagree|disagree|neutral|agree|Strongly agree",
		"S|M|L|XL", "None|Some|Marked", "I|II|III|IV", "1st|2nd|3rd", "nie|selten|immer", "much worse|worse|better",
		"1 Extremely well|2 Quite well|3 Not too well|10 Refused", "1 = no|2 = perhaps|3 = yes", "1. a|2. b|3. c", "1: a|2: b|3: c",
		"<5|5-9|10-19|20+", "0-39g/day|40-79|80-119|120+", "<1l|1-1.5l|1.5-2l|>2l", "under 18|18 to 64|over 64", "0|1|2|3+", "<20k|20k-40k|40k-80k|>80k", "€0-5|€5-10|€10+",
		"0,5-1|1,5-2|2,5-3",
	} {
		want := strings.Split(text, "|")
		got, ok := Ordered(slices.Sorted(slices.Values(want)))
		assert.True(t, ok, text)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{
		"low|high", "red|green|blue", "low|medium|often", "medium|moderate|high", "1|2|3", "1A|2B|3C", "4WD|2WD|AWD", "5-9|8-12|20+",
		"9-5|10-20|30+", "3-1|2-2|1-0", "1.SP|1.SW|2.NL", "2024-01-31|2024-02-01|2024-03-01", "10:30|11:30|12:30", "195/60|205/60|175/70",
		"<5|<7|9", "1st|2nd|Crew", "a|b|", "1 a|2 b|c", "-5|6-10|> 10",
	} {
		_, ok := Ordered(strings.Split(text, "|"))
		assert.False(t, ok, text)
	}
}
