package command

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

type versionCommand struct{}

// Run prints the versions of the module and of Go, what the loops over rows are written in and
// what multiplies matrices.
func (versionCommand) Run(s *session) error {
	_, err := fmt.Fprintln(s.stdout, "latent "+strings.ReplaceAll(version(), "; ", "\n"))
	return err
}

// version is everything about the program that may change the bits of a result.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return fmt.Sprintf("%s; kernels: %s, products of matrices: %s", release(info), simd.Instructions(), linalg.Backend())
}

// release is the version of the module, that of go install …@latest or of the tag, the revision where the version does
// not have it, and what it was built by and for.
func release(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	name := info.Main.Version
	if name == "" {
		name = "(unknown)"
	}
	const shown = 12 // digits of a revision, as in versions that Go makes of it
	if revision := settings["vcs.revision"]; revision != "" &&
		!strings.Contains(name, revision[:min(shown, len(revision))]) {
		name += ", revision " + revision[:min(shown, len(revision))]
		if settings["vcs.modified"] == "true" {
			name += " and changes"
		}
	}
	return fmt.Sprintf("%s, %s %s/%s", name, info.GoVersion, settings["GOOS"], settings["GOARCH"])
}
