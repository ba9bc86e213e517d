package outcome

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// takeWinner makes the report that of the best structure.
func (r *Report) takeWinner(by framework.Criterion, in *tables.Input) {
	w, is := r.found.(fitted.Winner)
	if !is {
		return
	}
	if r.Columns, r.what, r.Compared = w.Won(); r.Family != families.Auto {
		r.Family = r.Compared[0].Family
	}
	r.ComparedBy = strings.ToLower(by.Name)
	for i, one := range r.Compared {
		if one.Err != nil {
			r.Compared[i].Error = in.Render(one.Err)
		}
	}
}

// selecting is the command that fits every K of the structure that is the best.
func (r *Report) selecting() string {
	switch {
	case len(r.Compared) == 0:
		return "select"
	case r.Family == families.Auto:
		return "select --family auto --cov " + r.Compared[0].Covariance
	case r.Compared[0].Structure == fitted.HeavyTailed:
		return "select --family " + fitted.HeavyTailed.Family
	}
	return "select --cov " + r.Compared[0].Covariance
}

// comparedFact says which structure is the best, and by how much.
func (r *Report) comparedFact() [][2]string {
	if len(r.Compared) < 2 {
		return nil
	}
	best, second, by := r.Compared[0], r.Compared[1], r.ComparedBy
	if by != r.Criterion { // no flag has its code
		by = criterionCalled(by)
	}
	said := fmt.Sprintf("%s (%s), the best of %d structures compared by %s",
		best.Structure.Label(), best.Structure.About(), len(r.Compared), by)
	switch {
	case second.Error != "":
		said += ": no other could be fitted"
		if errors.Is(second.Err, framework.ErrSingle) {
			said += ", or has several components"
		} else if errors.Is(second.Err, framework.ErrSpare) {
			said += fmt.Sprintf(", or has a use for all %d components", r.K)
		}
	case second.K == 1 && best.K == 1 && second.Behind <= CloseBy:
		said += "; of one component others are the same"
	default:
		lead, what := float64(second.Behind), "%s nats ahead of %s with K = %d"
		if lead < 0 {
			lead, what = -lead, "%s nats behind %s with K = %d since its whole search, which follows the evidence"
		}
		said += fmt.Sprintf(": "+what, wording.Nats(lead), second.Structure.Label(), second.K)
	}
	return [][2]string{{"covariance", said}}
}

// comparedSection shows how the structures compare.
func (r *Report) comparedSection() []report.Section {
	if len(r.Compared) < 2 {
		return nil
	}
	table := report.Table{Caption: "covariance structures", Open: true, High: "the best",
		Columns: report.Columns("structure", "covariances have", "K", r.ComparedBy, "below the best", "search")}
	for _, one := range r.Compared {
		about := one.Structure.About()
		if one.Error != "" {
			table.Add(one.Structure.Label(), about, report.Missing, report.Missing, report.Missing, one.Error)
			continue
		}
		behind := report.Shaded(report.Nats(one.Behind), math.Exp(-float64(one.Behind)/much))
		table.Add(one.Structure.Label(), about, strconv.Itoa(one.K), report.Nats(one.Value), behind, one.Stage)
	}
	list := report.Single("Covariance structures", nil, table)
	list[0].Text = fmt.Sprintf("Structures are compared by %s. Searches that fell behind were stopped early, "+
		"and a complete search may find slightly more.", criterionCalled(r.ComparedBy))
	return list
}
