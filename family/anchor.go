package family

// Statistics of different local steps have different anchors: those of a step are its
// components' locations. With δ the one anchor less the other,
//
//	Σ(x−a) = Σ(x−b) + nδ,  Σ(x−a)(x−a)ᵀ = Σ(x−b)(x−b)ᵀ + Σ(x−b)δᵀ + δΣ(x−b)ᵀ + nδδᵀ.

func (g gaussian) AddAbout(sums, anchor, others, another []float64) {
	d, n := g.d, others[0]
	first, second := g.split(sums, 1)
	itsFirst, itsSecond := g.split(others, 1)
	sums[0] += n
	for a := range d {
		da := another[a] - anchor[a]
		first[a] += itsFirst[a] + n*da
		for c := a; c < d; c++ {
			dc := another[c] - anchor[c]
			second[a*d+c] += itsSecond[a*d+c] + itsFirst[a]*dc + da*(itsFirst[c]+n*dc)
		}
	}
}

func (g diagonal) AddAbout(sums, anchor, others, another []float64) {
	n, first, second := thirds(sums, g.d)
	itsN, itsFirst, itsSecond := thirds(others, g.d)
	for a := range g.d {
		shift := another[a] - anchor[a]
		n[a] += itsN[a]
		first[a] += itsFirst[a] + itsN[a]*shift
		second[a] += itsSecond[a] + shift*(2*itsFirst[a]+itsN[a]*shift)
	}
}

func (g spherical) AddAbout(sums, anchor, others, another []float64) {
	n := others[0]
	sums[0] += n
	sums[1+g.d] += others[1+g.d]
	for a := range g.d {
		shift := another[a] - anchor[a]
		sums[1+a] += others[1+a] + n*shift
		sums[1+g.d] += shift * (2*others[1+a] + n*shift)
	}
}
