package html

import (
	"strings"
	"unicode"
)

// wide is how wide a text is at most, on a phone, where letters are 14 units high: by the widths of DejaVu Sans, which
// is wider than other fonts for screens.
func wide(text string) float64 {
	sum := 0.0
	for _, r := range text {
		sum += letter(r)
	}
	return sum
}

// letter is the width of one.
func letter(r rune) float64 {
	const narrow, usual, capital, widest = 6, 9, 12, 14
	switch {
	case unicode.Is(unicode.Mn, r):
		return 0 // an accent
	case strings.ContainsRune("MWmw@%—…", r),
		unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
		return widest
	case strings.ContainsRune(" .,:;'|!()[]ijlft", r):
		return narrow
	case unicode.IsUpper(r), strings.ContainsRune("+−=<>~", r):
		return capital
	}
	return usual
}

// fitting is a text as far as there is room for it.
func fitting(text string, room float64) string {
	if wide(text) <= room {
		return text
	}
	sum := letter('…')
	for i, r := range text {
		if sum += letter(r); sum > room {
			return text[:i] + "…"
		}
	}
	return text
}
