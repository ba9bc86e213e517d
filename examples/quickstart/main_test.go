package main

// Old Faithful has two kinds of eruptions.
func Example() {
	main()
	// Output:
	// 2 components, gFIC -1166.4 nats; the first has mean [2.04 54.48] and variances 0.07, 33.70
	// a new row: ln p = -6.85, components [0.001 0.999]
}
