package command

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheVersionSaysWhatWasBuilt(t *testing.T) {
	built := func(version string, settings ...debug.BuildSetting) string {
		settings = append(settings, debug.BuildSetting{Key: "GOOS", Value: "plan9"}, debug.BuildSetting{Key: "GOARCH", Value: "arm"})
		return release(&debug.BuildInfo{GoVersion: "go1.26.1", Main: debug.Module{Version: version}, Settings: settings})
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	require.Equal(t, "v0.2.0, go1.26.1 plan9/arm", built("v0.2.0"), "go install …@latest")
	require.Equal(t, "v0.2.0, revision 0123456789ab, go1.26.1 plan9/arm", built("v0.2.0", revision))
	require.Equal(t, "(devel), revision 0123456789ab and changes, go1.26.1 plan9/arm", built("(devel)", revision, debug.BuildSetting{Key: "vcs.modified", Value: "true"}))
	require.Equal(t, "v0.2.1-0.20261122142258-0123456789ab, go1.26.1 plan9/arm", built("v0.2.1-0.20261122142258-0123456789ab", revision))
	require.Equal(t, "(unknown), go1.26.1 plan9/arm", built(""))
	stdout, _ := done(t, "version")
	also, _ := done(t, "--version")
	require.Equal(t, stdout, also)
	require.Regexp(t, `^latent .+, `+runtime.Version()+` `+runtime.GOOS+`/`+runtime.GOARCH+"\nkernels: .+, products of matrices: .+\n$", stdout)
}
