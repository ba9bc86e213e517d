// Package roles says what part the settings of a model give to columns of a table: those that probabilities of classes
// depend on, that others are explained by, that say which sequence a row belongs to.
package roles

import (
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/classes"
)

// Roles are those of the settings of a model, by their optional interfaces.
type Roles struct{ settings fitted.Settings }

// Of has the roles that settings give.
func Of(settings fitted.Settings) Roles { return Roles{settings} }

// Flags are the settings, a pointer to a struct whose fields are flags; nil where there is no model.
func (r Roles) Flags() fitted.Settings { return r.settings }

// Gate are the columns that probabilities of classes depend on.
func (r Roles) Gate() []string {
	if g, has := r.settings.(interface{ GateColumns() []string }); has {
		return g.GateColumns()
	}
	return nil
}

// KnownColumn is the column of known classes; empty if there is none.
func (r Roles) KnownColumn() string {
	if k, has := r.settings.(interface{ KnownColumn() string }); has {
		return k.KnownColumn()
	}
	return ""
}

// KnownNames is the table of what is known of the classes of names; empty if there is none.
func (r Roles) KnownNames() string {
	if k, has := r.settings.(interface{ KnownNames() string }); has {
		return k.KnownNames()
	}
	return ""
}

// Aside are the columns that classes do not describe as they do others: of known classes, and of a gate.
func (r Roles) Aside() []string {
	if known := r.KnownColumn(); known != "" {
		return append([]string{known}, r.Gate()...)
	}
	return r.Gate()
}

// Given are the columns that the model conditions on, which come last, and the flag that names them.
func (r Roles) Given() (names []string, flag string) {
	if of, is := r.settings.(fitted.Conditioner); is {
		return of.CovariateColumns(), "--covariates"
	}
	return r.Gate(), "--gate"
}

// Described are the families of single columns.
func (r Roles) Described() *classes.ColumnFamilies {
	if d, has := r.settings.(interface {
		Described() *classes.ColumnFamilies
	}); has {
		return d.Described()
	}
	return &classes.ColumnFamilies{}
}

// LeastVariance is the factor of the least variances of Gaussian columns, or family.NoFloor.
func (r Roles) LeastVariance(q fitted.Request) float64 {
	if d, has := r.settings.(interface {
		LeastVariance(q fitted.Request) float64
	}); has {
		return d.LeastVariance(q)
	}
	return new(classes.ColumnSettings).LeastVariance(q)
}

// Covariances are settings about those of Gaussian classes; nil of models without.
func (r Roles) Covariances() *classes.CovarianceSettings {
	if d, has := r.settings.(interface {
		CovarianceFlags() *classes.CovarianceSettings
	}); has {
		return d.CovarianceFlags()
	}
	return nil
}

// Sequence is the column that says which sequence a row belongs to; empty: the table is one, or rows are independent.
func (r Roles) Sequence() string {
	if of, is := r.settings.(interface{ SequenceColumn() string }); is {
		return of.SequenceColumn()
	}
	return ""
}

// Explained says what is explained by what; nil where nothing is.
func (r Roles) Explained() *fitted.Explained {
	if e, explains := r.settings.(fitted.Explainer); explains {
		if of := e.Explained(); of.Response != "" {
			return &of
		}
	}
	return nil
}
