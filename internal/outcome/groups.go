package outcome

import (
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// group takes the groups that the components form, once their rows are counted, and compares them with known classes.
func (r *Report) group(s *tables.Session, in *tables.Input, wanted *int) (err error) {
	if r.mixes() && r.K > grouping.MostComponents {
		s.Note("%s are too many to join into groups; must be at most %d", wording.Counted(r.K, "component"),
			grouping.MostComponents)
	}
	groups, is := r.found.(fitted.Grouper)
	if !is {
		return nil
	}
	v, err := groups.Group(wanted)
	if err != nil || v == nil {
		return err
	}
	if wanted != nil && *wanted > r.K {
		s.Note("--groups %d: there are %s, and as many groups", *wanted, wording.Counted(r.K, "component"))
	}
	if r.Groups = *v; r.Agreement == nil || !v.Join() {
		return nil
	}
	list, err := groups.ClassifyGroups()
	if err == nil {
		r.Agreement.Groups = &AgreementOf(in, list, len(r.Groups.Groups)).AdjustedRand
	}
	return err
}

// groupFact is a line of the text where groups have several components.
func (r *Report) groupFact() [][2]string {
	if !r.Join() {
		return nil
	}
	return [][2]string{{"groups", r.Sentence()}}
}
