package ticks

import "math"

// Steps of labels, the simplest first, and how many labels an axis wants.
var steps = [...]float64{1, 5, 2, 2.5, 4, 3}

const wanted = 3

// Between places about three labels on an axis from lo to hi, within it. They are the best of all by the weights of
// Talbot, Lin & Hanrahan 2010, An Extension of Wilkinson's Algorithm for Positioning Tick Labels on Axes: how simple
// their step is and whether 0 is among them, how near they come to both ends, and how many there are. Where the numbers
// of the axis lie too close for that, they are its ends and its middle.
func Between(lo, hi float64) []float64 {
	var best labels
	best.score = -2
	for skip := 1.0; ; skip++ {
		for i := range steps {
			switch done := score(simplicity(i, skip)+1, 1, 1) < best.score; {
			case done && best.n == 0:
				return []float64{lo, lo + (hi-lo)/2, hi}
			case done:
				return best.values()
			}
			best.search(lo, hi, i, skip)
		}
	}
}

// labels are n numbers from the first on.
type labels struct {
	n           int
	first, step float64
	score       float64
}

func (l labels) values() []float64 {
	list := make([]float64, l.n)
	for i := range list {
		list[i] = l.first + float64(i)*l.step
	}
	return list
}

// search improves on the labels by those whose distance is skip times a step of the list times a power of ten.
func (l *labels) search(lo, hi float64, i int, skip float64) {
	simple := simplicity(i, skip)
	for n := 2; score(simple+1, 1, density(float64(max(n, wanted)-1)/(wanted-1))) >= l.score; n++ {
		least := (hi - lo) / float64(n+1) / skip / steps[i]
		for power := int(math.Ceil(math.Log10(least))); power <= 308; power++ {
			step := skip * steps[i] * math.Pow10(power)
			span := step * float64(n-1)
			if span > (hi-lo)*(1+1e-9) { // to rounding
				break
			}
			last := math.Ceil(hi/step) * skip
			for start := (math.Floor(hi/step) - float64(n-1)) * skip; start <= last && start != start-1; start++ {
				first := start * (step / skip)
				end := first + span
				if first < lo || end > hi {
					continue
				}
				of := simple
				if first <= 0 && end >= 0 && math.Mod(start, skip) == 0 {
					of++ // 0 is a label
				}
				coverage := 1 - 50*(square((hi-end)/(hi-lo))+square((first-lo)/(hi-lo)))
				if s := score(of, coverage, density(float64(n-1)/span*(hi-lo)/(wanted-1))); s > l.score {
					*l = labels{n, first, step, s}
				}
			}
		}
	}
}

// simplicity of a step of the list of which every skip-th is a label, without 0 among them.
func simplicity(i int, skip float64) float64 { return 1 - float64(i)/float64(len(steps)-1) - skip }

// density judges how many times as close labels are as is wanted.
func density(ratio float64) float64 { return 2 - max(ratio, 1/ratio) }

// score weighs the paper's terms; legibility, the fourth, is the same for all.
func score(simplicity, coverage, density float64) float64 {
	return 0.25*simplicity + 0.2*coverage + 0.5*density + 0.05
}

func square(v float64) float64 { return v * v }

// Whole places up to six labels on integers from lo to hi, in steps of 1, 2 or 5 and ten times as much.
func Whole(lo, hi float64) (values []float64) {
	const most = 6
	step := 1.0
	for i := 0; (hi-lo)/step > most; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	for v := math.Ceil(lo/step) * step; v <= hi; v += step {
		values = append(values, v)
	}
	return values
}

// Decades are the powers of ten from lo to hi, positive.
func Decades(lo, hi float64) (values []float64) {
	for power := int(math.Floor(math.Log10(lo))); power <= int(math.Ceil(math.Log10(hi))); power++ {
		if v := math.Pow10(power); v >= lo && v <= hi {
			values = append(values, v)
		}
	}
	return values
}
