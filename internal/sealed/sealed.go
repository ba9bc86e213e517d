// Package sealed writes values so that any change of what was written is found: a line that says what it is, the values
// by encoding/gob, and the SHA-256 of both.
package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
)

// Encode returns a sealed text of what write encodes. The header has no line end.
func Encode(header string, write func(*gob.Encoder) error) ([]byte, error) {
	buf := bytes.NewBufferString(header + "\n")
	if err := write(gob.NewEncoder(buf)); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(buf.Bytes())
	return append(buf.Bytes(), sum[:]...), nil
}

// Decoder returns the header of a text, and a decoder of what follows; nil where the text is not as it was sealed.
func Decoder(text []byte) (header string, values *gob.Decoder) {
	head, body, _ := bytes.Cut(text, []byte("\n"))
	at := len(text) - sha256.Size
	if len(body) < sha256.Size || sha256.Sum256(text[:at]) != [sha256.Size]byte(text[at:]) {
		return string(head), nil
	}
	return string(head), gob.NewDecoder(bytes.NewReader(body[:len(body)-sha256.Size]))
}
