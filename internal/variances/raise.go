package variances

// Raise moves a location and a logarithm of a scale, which have the maximum of value at or near to, to where it is
// largest above the floor least(location), which falls by 2 where the location rises by 1 or is constant. Nothing is
// lower than from, where that is above the floor.
func Raise(value func(location, scale float64) float64, least func(location float64) float64, from, to *[2]float64) {
	if to[1] >= least(to[0]) {
		return
	}
	m, y := to[0], to[1]
	on := func(m float64) float64 { return max(y, least(m)) }
	to[0] = highest(func(m float64) float64 { return value(m, on(m)) }, min(m, from[0]), max(from[0], m+(least(m)-y)/2))
	to[1] = on(to[0])
	if from[1] >= least(from[0]) && value(from[0], from[1]) > value(to[0], to[1]) {
		*to = *from
	}
}

// highest is where f has its maximum between a and b, by golden sections.
func highest(f func(x float64) float64, a, b float64) float64 {
	const part = 0.6180339887498949
	low, high := b-part*(b-a), a+part*(b-a)
	left, right := f(low), f(high)
	for range 80 {
		if left >= right {
			b, high, right = high, low, left
			low = b - part*(b-a)
			left = f(low)
		} else {
			a, low, left = low, high, right
			high = a + part*(b-a)
			right = f(high)
		}
	}
	return (a + b) / 2
}
