package command

import (
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/wording"
)

// A number of JSON.
type number = fitted.Number

// What the sentences of the command are made of has its names in package wording.
var (
	counted, are, plural, capital   = wording.Counted, wording.Are, wording.Plural, wording.Capital
	enumerated, quoted, listed      = wording.Enumerated, wording.Quoted, wording.Listed
	leftOut, isolated, digits       = wording.LeftOut, wording.Isolated, wording.Nats
	numbered, upTo, chosen, byValue = wording.Numbered, wording.UpTo, wording.Largest, wording.ByValue
	numbers                         = fitted.Numbers
)

const (
	mostRows       = wording.MostRows
	mostProfiles   = wording.MostProfiles
	mostShaded     = wording.MostShaded
	mostIterations = wording.MostIterations
)
