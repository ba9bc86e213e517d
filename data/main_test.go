package data_test

import _ "github.com/latent-go/latent/internal/fixedseed" // the same cases in every run
