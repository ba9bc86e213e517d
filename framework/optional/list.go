package optional

import (
	"reflect"

	"github.com/latent-go/latent/internal/signatures"
)

// ofModels are the interfaces that a model may implement.
func ofModels[B, Src, P, S any]() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[Curved[P, S]](), reflect.TypeFor[Projector[P, S]](), reflect.TypeFor[Proper[P, S]](),
		reflect.TypeFor[LogProber[B, P]](), reflect.TypeFor[Assigner[B, P]](), reflect.TypeFor[Charger[P, S]](),
		reflect.TypeFor[Rotator[P, S]](), reflect.TypeFor[Splitter[Src, P, S]](), reflect.TypeFor[Coupled[B, Src, P, S]](),
		reflect.TypeFor[InOrder](), reflect.TypeFor[Expander[P, S]](), reflect.TypeFor[Estimating[P, S]](),
		reflect.TypeFor[Penalized[P]](), reflect.TypeFor[ReplacesPrior](), reflect.TypeFor[Variational](),
		reflect.TypeFor[BoundedLikelihood](), reflect.TypeFor[FixedPoint](), reflect.TypeFor[LabelEntropy[S]](),
		reflect.TypeFor[Condenser[Src]](), reflect.TypeFor[Creeping](), reflect.TypeFor[Symmetric[P]](),
		reflect.TypeFor[Collapsible[B, P, S]](), reflect.TypeFor[Labeller[B, P, S]](), reflect.TypeFor[Coded[P, S]](),
		reflect.TypeFor[Singular[P]](),
	}
}

// ofStatistics are those that statistics may implement.
func ofStatistics[S any]() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[Scaler](), reflect.TypeFor[Follower[S]]()}
}

// Names names the interfaces that a model and its statistics implement.
func Names[B, Src, P, S any](model any) []string {
	var s S
	return append(signatures.Names(model, ofModels[B, Src, P, S]()...), signatures.Names(s, ofStatistics[S]()...)...)
}

// Misfit is an error about a method of a model, or of its statistics, that has the name of one of an optional interface
// and another signature or receiver: it would never be called. It is nil if there is none.
func Misfit[B, Src, P, S any](model any) error {
	var s S
	if err := signatures.Misfit(model, ofModels[B, Src, P, S]()...); err != nil {
		return err
	}
	return signatures.Misfit(s, ofStatistics[S]()...)
}
