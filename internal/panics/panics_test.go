package panics_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/panics"
)

//go:noinline
func author(cause any) {
	if cause == nil {
		var none []int
		_ = none[len(none)]
	}
	panic(cause)
}

func caught(do func()) (p *panics.Panic) {
	defer func() { p = panics.Of(recover()) }()
	do()
	return nil
}

func TestPanicKeepsItsValueAndTheStackBelowIt(t *testing.T) {
	for _, cause := range []any{"boom", nil, io.ErrUnexpectedEOF} {
		p := caught(func() { author(cause) })
		require.NotNil(t, p)
		require.NotEmpty(t, p.Frames)
		assert.Equal(t, "github.com/latent-go/latent/internal/panics_test.author", p.Frames[0].Function)
		assert.Regexp(t, `(?s)author\n\t.*panics_test.go:\d+\n`, p.Error())
		assert.NotContains(t, p.Error(), "runtime.gopanic")
	}
	assert.Contains(t, caught(func() { author("boom") }).Error(), "boom\n\n")
	assert.Contains(t, caught(func() { author(nil) }).Error(), "index out of range")
	assert.ErrorIs(t, caught(func() { author(io.ErrUnexpectedEOF) }), io.ErrUnexpectedEOF)
	assert.NoError(t, errors.Unwrap(caught(func() { author("boom") })))
	assert.Nil(t, caught(func() {}))
}

// TestPanicThatIsRaisedAgainIsTheFirst: on another goroutine, whose stack says nothing.
func TestPanicThatIsRaisedAgainIsTheFirst(t *testing.T) {
	first := make(chan *panics.Panic)
	go func() { first <- caught(func() { author("boom") }) }()
	p := <-first
	assert.Same(t, p, caught(func() { panic(p) }))
}
