package command

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every module that is linked into the command has its licence in NOTICE.
func TestNoticeHasEveryModule(t *testing.T) {
	notice, err := os.ReadFile("../../NOTICE")
	require.NoError(t, err)
	info, ok := debug.ReadBuildInfo()
	require.True(t, ok)
	tests := map[string]bool{"github.com/stretchr/testify": true, "github.com/davecgh/go-spew": true, "github.com/pmezard/go-difflib": true, "gopkg.in/yaml.v3": true}
	for _, m := range info.Deps {
		if !tests[m.Path] {
			require.Contains(t, string(notice), "\n"+m.Path+" ", "the licence of %s", m.Path)
		}
	}
}
