package main

// Old Faithful has two kinds of eruptions.
func Example() {
	main()
	// Output:
	// 2 components, evidence -1165.2 nats; the first has mean [2.04 54.49] and variances 0.07, 34.10
	// a new row: ln p = -6.80, components [0.001 0.999]
}
