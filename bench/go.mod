module github.com/latent-go/latent/bench

go 1.26.0

replace github.com/latent-go/latent => ../

require (
	github.com/latent-go/latent v0.0.0
	gonum.org/v1/gonum v0.17.0
)

require (
	github.com/edsrzf/mmap-go v1.2.0 // indirect
	golang.org/x/exp v0.0.0-20260908205506-85c1c2202aba // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
	gonum.org/v1/netlib v0.0.0-20190313105609-8cb42192e0e0 // indirect
)
