package hmm

type bayes struct{}
