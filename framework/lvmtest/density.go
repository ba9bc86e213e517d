package lvmtest

import (
	"context"
	"math/rand/v2"
	"reflect"
	"strings"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/densities"
)

// interfaces lists what the engine finds.
func (r *run[B, P, S]) interfaces() {
	r.notef("%T is also %s", r.Model, listed(optional.Names[B, framework.Source[B], P, S](r.Model)))
	k := r.ks()[0]
	o := framework.Options{K: k, FixedK: true, Method: framework.EM, MaxIterations: 1}
	_, err := framework.Fit(context.Background(), r.Model, r.Data.all(0), o)
	r.must(err, "Fit", wayOf(o))
}

func listed(names []string) string {
	if len(names) == 0 {
		return "no optional interface"
	}
	return strings.Join(names, ", ")
}

// A verifier compares the methods of a density on columns of rows.
type verifier interface {
	Verify(b blocks.Rows, at int, rng *rand.Rand) (methods []string, errs []error)
}

// density finds the densities of a model: in a field that is a family, or the model's own.
func (r *run[B, P, S]) density() {
	found := false
	report := func(what string, methods []string, errs []error) {
		found = true
		r.notef("%s is also %s", what, listed(methods))
		for _, err := range errs {
			r.errorf("%v", err)
		}
	}
	if verify := densities.VerifierOf(r.Model); verify != nil {
		for _, at := range r.early() {
			methods, errs := verify(at.s, r.maximize(at.where, at.s, at.p), r.rng(13))
			report("the density", methods, errs)
		}
	}
	rows, ok := rowsOf(r.Data.all(0).blocks[0])
	f := familyOf(r.Model)
	if ok && f != nil {
		factors, err := f.On(rows.D)
		r.must(err, "On of "+f.Name(), "the family")
		at := 0
		for _, factor := range factors {
			if v, ok := factor.(verifier); ok {
				methods, errs := v.Verify(rows, at, r.rng(13))
				report(factor.Name(), methods, errs)
			}
			at += factor.Layout().Columns
		}
	}
	if !found {
		r.skipf("%T has no density of package numeric", r.Model)
	}
}

// rowsOf are the rows of a block, with the steps of sequences.
func rowsOf(b any) (blocks.Rows, bool) {
	switch b := b.(type) {
	case blocks.Rows:
		return b, true
	case blocks.Sequences:
		return b.Flat(), true
	}
	return blocks.Rows{}, false
}

// familyOf is a field of a model, nil if there is none.
func familyOf(model any) family.Family {
	v := reflect.Indirect(reflect.ValueOf(model))
	if v.Kind() != reflect.Struct {
		return nil
	}
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		if f, ok := v.Field(i).Interface().(family.Family); ok {
			return f
		}
	}
	return nil
}
