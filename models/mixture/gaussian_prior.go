package mixture

import (
	"errors"

	"github.com/latent-go/latent/prior"
)

func (g gaussian) conjugate(p prior.Prior, w *whole) (conjugate, error) {
	return nil, errors.New("todo")
}
func (g diagonal) conjugate(p prior.Prior, w *whole) (conjugate, error) {
	return nil, errors.New("todo")
}
func (g spherical) conjugate(p prior.Prior, w *whole) (conjugate, error) {
	return nil, errors.New("todo")
}
