package sealed_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/sealed"
)

func TestWhatWasSealedComesBackAndNothingElse(t *testing.T) {
	want := map[string][]byte{"a": []byte("1\n2"), "b": nil}
	text, err := sealed.Encode("a test 1", func(e *gob.Encoder) error { return errors.Join(e.Encode(want), e.Encode(7)) })
	require.NoError(t, err)
	header, values := sealed.Decoder(text)
	require.Equal(t, "a test 1", header)
	var got map[string][]byte
	var number int
	require.NoError(t, errors.Join(values.Decode(&got), values.Decode(&number)))
	require.Equal(t, 7, number)
	require.Equal(t, []byte("1\n2"), got["a"])

	for i := range text {
		flipped := slices.Clone(text)
		flipped[i] ^= 1 << (i % 8)
		_, values := sealed.Decoder(flipped)
		require.Nil(t, values, "byte %d", i)
		_, values = sealed.Decoder(text[:i])
		require.Nil(t, values, "%d bytes", i)
	}
	_, values = sealed.Decoder(append(bytes.Clone(text), 0))
	require.Nil(t, values)
	broken := errors.New("broken")
	_, err = sealed.Encode("", func(*gob.Encoder) error { return broken })
	require.ErrorIs(t, err, broken)
}
