package lvmtest

import "time"

// LimitSample sets what a call of Sample may take, and returns a function that puts it back.
func LimitSample(limit time.Duration) (restore func()) {
	before := sampleLimit
	sampleLimit = limit
	return func() { sampleLimit = before }
}
