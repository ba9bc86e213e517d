package main

// One component that may vary more than its mean, where Poisson components are three.
func Example() {
	main()
	// Output: K = 1, mean and shape [19.4 12.2], evidence -362.3 nats
}
