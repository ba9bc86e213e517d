package command

import (
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/jsontext"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// A number of JSON, and the value of --columns.
type (
	number         = fitted.Number
	columnFamilies = classes.ColumnFamilies
)

const mostByDefault = classes.MostByDefault

// What the sentences of the command are made of has its names in package wording.
var (
	counted, are, capital           = wording.Counted, wording.Are, wording.Capital
	enumerated, quoted, listed      = wording.Enumerated, wording.Quoted, wording.Listed
	leftOut, isolated, digits       = wording.LeftOut, wording.Isolated, wording.Nats
	numbered, upTo, chosen, byValue = wording.Numbered, wording.UpTo, wording.Largest, wording.ByValue
	ascii, readable, thinned        = wording.ASCII, wording.Readable, wording.Thinned
	moreOr, section, numbers        = wording.Either, report.Single, fitted.Numbers
	word, item                      = wording.Word, wording.Item
	misused, oneLine                = faults.Misused, faults.OneLine
	encode, writeJSON               = jsontext.Encode, jsontext.Write
	without, setOf, namesOf         = tables.Without, tables.SetOf, tables.NamesOf
)

const (
	most           = wording.MostNoted
	mostRows       = wording.MostRows
	mostProfiles   = wording.MostProfiles
	mostShaded     = wording.MostShaded
	mostIterations = wording.MostIterations
)
