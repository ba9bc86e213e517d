package data

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// scales are words in their order; words that mean the same are separated by bars.
var scales = [][]string{
	{"none", "very low|sehr niedrig", "low|niedrig|gering", "medium|moderate|middle|mid|mittel", "high|hoch",
		"very high|sehr hoch"},
	{"none", "mild|slight", "moderate", "severe|serious|marked", "very severe|extreme|critical"},
	{"none", "little", "some", "marked|much|many|a lot"},
	{"xxs", "xs", "s", "m", "l", "xl", "xxl", "xxxl"},
	{"tiny|very small", "small|klein", "medium|mittel", "large|big|groß", "very large|huge|sehr groß"},
	{"never|nie", "almost never|hardly ever|very rarely", "rarely|seldom|selten",
		"sometimes|occasionally|occas|some|manchmal|gelegentlich", "fairly often|regularly|regul",
		"often|frequently|freq|häufig|oft",
		"very often|usually|almost always|meistens", "always|immer"},
	{"very poor|very bad|terrible|sehr schlecht", "poor|bad|schlecht", "fair|average|okay|ok|mäßig|mittel", "good|gut",
		"very good|sehr gut", "excellent|outstanding"},
	{"much worse", "worse", "average|same|no change", "better", "much better"},
	{"not at all", "a little|slightly|a little bit|not very", "somewhat|moderately", "very|quite a bit|very much",
		"extremely"},
	{"far too little", "too little", "about right", "too much", "far too much"},
	{"first|1st|erste", "second|2nd|zweite", "third|3rd|dritte", "fourth|4th|vierte", "fifth|5th"},
	{"i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"},
	{"young", "middle-aged|middle", "old"},
	{"early", "middle|mid", "late"},
	{"beginner|novice", "intermediate", "advanced", "expert"},
}

// degrees make scales of words such as agree.
var degrees = [][3]string{
	{"disagree", "neutral|undecided|neither|neither agree nor disagree", "agree"}, {"unlikely", "neutral", "likely"},
	{"dissatisfied", "neutral|neither satisfied nor dissatisfied", "satisfied"},
	{"unimportant", "neutral", "important"},
	{"negative", "neutral", "positive"}, {"unhappy", "neutral", "happy"},
}

func init() {
	for _, d := range degrees {
		scales = append(scales, []string{
			"strongly " + d[0] + "|very " + d[0] + "|completely " + d[0], d[0],
			"somewhat " + d[0] + "|slightly " + d[0], d[1],
			"somewhat " + d[2] + "|slightly " + d[2], d[2],
			"strongly " + d[2] + "|very " + d[2] + "|completely " + d[2],
		})
	}
}

// fewestOrdered is how many levels have an order.
const fewestOrdered = 3

// Ordered returns levels in the order that their texts show: by numbers at the beginning, as in "1 Not at all"; by
// intervals, as in "<5", "5-9" and "10+"; or by words of a scale, such as low, medium and high. ok is false if they
// show no order, and for fewer than 3 or more than 12 levels.
func Ordered(levels []string) (inOrder []string, ok bool) {
	if len(levels) < fewestOrdered || len(levels) > mostNumbered {
		return nil, false
	}
	ranks := ranksOnScale(levels)
	if ranks == nil {
		ranks = ranksOfIntervals(levels)
	}
	if ranks == nil {
		return nil, false
	}
	inOrder = slices.Clone(levels)
	slices.SortFunc(inOrder, func(a, b string) int { return cmp.Compare(ranks[a], ranks[b]) })
	return inOrder, true
}

// ranksOnScale are the places of levels on the first scale that has all; nil if none has, or two are the same.
func ranksOnScale(levels []string) map[string]float64 {
	for _, scale := range scales {
		ranks, taken := map[string]float64{}, map[int]bool{}
		for _, level := range levels {
			word := strings.ToLower(strings.TrimSpace(level))
			at := slices.IndexFunc(scale, func(s string) bool { return slices.Contains(strings.Split(s, "|"), word) })
			if at >= 0 && !taken[at] {
				ranks[level], taken[at] = float64(at), true
			}
		}
		if len(ranks) == len(levels) {
			return ranks
		}
	}
	return nil
}

// interval is the text of numbers with bounds, which may have a currency, % or k beside them, or of a number and words.
var interval = regexp.MustCompile(`^([<≤]=?|under |bis |unter )?([>≥]=?|over |ab |über )?\s*\p{Sc}?` +
	`([0-9]+(?:[.,][0-9]+)?)(?:[k%]|\p{Sc})?` +
	`(\s*\+|\s*(?:-|–|to |bis )\s*\p{Sc}?([0-9]+(?:[.,][0-9]+)?)(?:[k%]|\p{Sc})?)?([^0-9]*)$`)

// ranksOfIntervals are where intervals or numbered texts begin; nil if one is neither, all are numbers or two overlap.
func ranksOfIntervals(levels []string) map[string]float64 {
	number := func(text string) float64 {
		v, _ := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
		return v
	}
	var spans [][2]float64
	ranks, texts := map[string]float64{}, false
	for _, level := range levels {
		m := interval.FindStringSubmatch(strings.ToLower(strings.TrimSpace(level)))
		if m == nil {
			return nil
		}
		under, over, to, words := m[1] != "", m[2] != "" || strings.TrimSpace(m[4]) == "+", m[5], m[6]
		s := [2]float64{number(m[3]), number(m[3])}
		switch {
		case under:
			s[0] = math.Inf(-1)
		case over:
			s[1] = math.Inf(1)
		case to != "":
			s[1] = number(to)
		case words != "" && !strings.ContainsAny(words[:1], " .):"): // such as 4WD
			return nil
		}
		texts = texts || under || over || to != "" || words != ""
		ranks[level], spans = s[0], append(spans, s)
	}
	slices.SortFunc(spans, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	for i, s := range spans {
		if s[0] > s[1] || i > 0 && (spans[i-1][0] == s[0] || spans[i-1][1] > s[0]) {
			return nil
		}
	}
	if !texts {
		return nil
	}
	return ranks
}
