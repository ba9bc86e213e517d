package command

import (
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/jsontext"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// A number of JSON, and the value of --columns.
type (
	number         = fitted.Number
	columnFamilies = classes.ColumnFamilies
)

const mostByDefault = classes.MostByDefault

// What the sentences of the command are made of, and other names that it has often.
var (
	counted, enumerated, quoted = wording.Counted, wording.Enumerated, wording.Quoted
	isolated, upTo              = wording.Isolated, wording.UpTo
	word, item, numbers         = wording.Word, wording.Item, fitted.Numbers
	misused, oneLine            = faults.Misused, faults.OneLine
	encode, writeJSON           = jsontext.Encode, jsontext.Write
	without, setOf, namesOf     = tables.Without, tables.SetOf, tables.NamesOf
)
