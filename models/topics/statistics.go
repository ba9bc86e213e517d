package topics

import (
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// Statistics are sums over documents, with the weights of their rows.
type Statistics struct {
	N               float64   // tokens
	Counts, Squares []float64 // Σ q and Σ q² over the tokens of each word, V×K
	Documents       float64   // the documents' part of E_q[ln p(X,Z)], at the α of the local step
	Rise, RiseTotal float64   // Σ_dk E[ψ(α+n_dk)] − ψ(α) and Σ_d ψ(Kα+n_d) − ψ(Kα), the terms of the step of α

	scratch
}

// sums are those of the statistics that belong to topics.
type sums struct {
	K       int       `keep:"count"`
	Counts  []float64 `keep:"columns"`
	Squares []float64 `keep:"columns"`
}

type scratch struct {
	p             *Parameters // of the local step
	estimates     bool        // the concentrations
	each, all     rising      // of α and Kα
	mine, squares []float64   // of a document, K each
	phi           []float64   // p.Topics, where it has been asked for
	fresh         []float32
	topics        float64 // logTopics at β, where it is known
	beta          float64 // 0: it is not
}

// Observations returns N, the weighted number of tokens.
func (s *Statistics) Observations() float64 { return s.N }

// Merge adds the sums of o.
func (s *Statistics) Merge(o *Statistics) {
	s.N, s.beta = s.N+o.N, 0
	linalg.Axpy(1, o.Counts, s.Counts)
	linalg.Axpy(1, o.Squares, s.Squares)
	s.Documents += o.Documents
	s.Rise += o.Rise
	s.RiseTotal += o.RiseTotal
}

func (s *Statistics) empty(p *Parameters) {
	s.N, s.Documents, s.Rise, s.RiseTotal, s.beta = 0, 0, 0, 0, 0
	clear(s.Counts)
	clear(s.Squares)
	s.p, s.phi = p, s.phi[:0]
	s.each, s.all = rising{p.Alpha}, rising{float64(p.K) * p.Alpha}
	s.mine, s.squares = linalg.Resize(s.mine, p.K), linalg.Resize(s.squares, p.K)
}

// add adds a document of a weight, and returns the entropy of its q, entries×K.
func (s *Statistics) add(columns []int, counts []float64, weight float64, q []float32) (entropy float64) {
	clear(s.mine)
	clear(s.squares)
	entropy = -simd.Tally(q, columns, counts, weight, s.mine, s.squares, s.Counts, s.Squares)
	tokens := total(columns, counts)
	s.N, s.beta = s.N+weight*tokens, 0
	s.addDocument(tokens, weight)
	return weight * entropy
}

// columnSums adds up the rows of a matrix.
func columnSums(dst, x []float64) {
	clear(dst)
	for i := 0; i < len(x); i += len(dst) {
		linalg.Axpy(1, x[i:i+len(dst)], dst)
	}
}
