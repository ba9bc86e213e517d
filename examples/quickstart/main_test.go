package main

// Old Faithful has two kinds of eruptions.
func Example() {
	main()
	// Output:
	// 2 components, evidence -1164.3 nats; the first has mean [2.04 54.49] and variances 0.07, 33.99
	// a new row: ln p = -6.81, components [0.001 0.999]
}
