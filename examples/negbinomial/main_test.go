package main

// One component that may vary more than its mean, where Poisson components are three.
func Example() {
	main()
	// Output: K = 1, mean and shape [19.4 12.2], gFIC -362.5 nats
}
