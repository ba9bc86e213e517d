package outcome

import (
	"encoding/json"

	"github.com/latent-go/latent/internal/jsontext"
)

// MarshalJSON has the settings of the model among those of all models.
func (s Settings) MarshalJSON() ([]byte, error) {
	return jsontext.Object(s.General, s.Flags(), s.Reading)
}

// UnmarshalJSON reads those of a model where it is known which.
func (s *Settings) UnmarshalJSON(text []byte) error {
	for _, part := range []any{&s.General, s.Flags(), &s.Reading} {
		if part == nil {
			continue
		}
		if err := json.Unmarshal(text, part); err != nil {
			return err
		}
	}
	return nil
}
