package tables

import (
	"fmt"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/memory"
)

// limitsFlag are the values of --limit.
type limitsFlag struct {
	data.Limits
	text string
}

// MarshalText is the text as it was given.
func (f limitsFlag) MarshalText() ([]byte, error) { return []byte(f.text), nil }

// UnmarshalText reads KEY=VALUE,….
func (f *limitsFlag) UnmarshalText(text []byte) error {
	*f = limitsFlag{text: string(text)}
	for item := range strings.SplitSeq(f.text, ",") {
		key, value, _ := strings.Cut(item, "=")
		bytes, err := memory.ParseSize(value)
		switch strings.TrimSpace(key) {
		case "cell":
			f.Cell = int64(bytes)
		case "row":
			f.Row = int64(bytes)
		case "ratio":
			f.Ratio = bytes
		default:
			return fmt.Errorf("no limit %q: write cell=SIZE, row=SIZE or ratio=NUMBER", item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
