package wording

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestArticles(t *testing.T) {
	for word, want := range map[string]string{
		"hmm": "an hmm", "lds": "an lds", "vbmf": "a vbmf", "bpca": "a bpca", "mixture": "a mixture", "experts": "an experts",
		"factor": "a factor", "own-model": "an own-model", "": "a ",
	} {
		assert.Equal(t, want, A(word))
	}
}
