package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	//go:embed layout.js
	layout string
	//go:embed keyboard.js
	keyboard string
)

// widths are those of a phone, a tablet and a laptop, in CSS pixels.
var widths = []int64{390, 768, 1440}

// modes are those that a reader may prefer.
var modes = []string{"light", "dark"}

// chromium starts the browser, which ends with the test.
func chromium(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium is installed: the pages are not looked at in a browser")
	}
	// The sandbox needs what containers do not give; the pages are our own.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	browser, quit := chromedp.NewContext(allocator)
	t.Cleanup(quit)
	require.NoError(t, chromedp.Do(browser))
	return browser
}

func TestPages(t *testing.T) {
	browser := chromium(t)
	command := build(t)
	axe := rules(t)
	for _, c := range pages {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file, report := c.write(t, command)
			p := open(t, browser, file)
			t.Run("tables", func(t *testing.T) { p.tables(t, report) })
			t.Run("layout", func(t *testing.T) { p.layout(t, c.name) })
			t.Run("keyboard", p.keyboard)
			t.Run("choice", p.choice)
			t.Run("names", p.names)
			assert.Empty(t, p.said(), "messages and requests")
			t.Run("axe", func(t *testing.T) { p.accessible(t, axe) })
		})
	}
}

// A tab shows a page.
type tab struct {
	context.Context
	mutex sync.Mutex
	heard []string // messages of the page, and what it asked the network for
}

// open shows a file in a tab of its own, which is closed at the end of the test.
func open(t *testing.T, browser context.Context, file string) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // a browser that hangs
	t.Cleanup(cancel)
	p := &tab{Context: ctx}
	url := "file://" + filepath.ToSlash(file)
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			p.heard = append(p.heard, fmt.Sprintf("console %s: %s", e.Type, e.Args[0].Value))
		case *runtime.EventExceptionThrown:
			p.heard = append(p.heard, "exception: "+e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			p.heard = append(p.heard, "log: "+e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if e.Request.URL != url {
				p.heard = append(p.heard, "request: "+e.Request.URL)
			}
		}
	}))
	p.do(t, chromedp.Navigate(url))
	return p
}

func (p *tab) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	require.NoError(t, chromedp.Do(p, actions...))
}

// ask evaluates a script in the page.
func ask[T any](t *testing.T, p *tab, script string) T {
	t.Helper()
	answer, err := chromedp.Run(p, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	require.NoError(t, err)
	return answer
}

// said is what the page said and asked for until now.
func (p *tab) said() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.heard
}

// look sets the width and the mode.
func (p *tab) look(t *testing.T, width int64, mode string) {
	t.Helper()
	_, err := chromedp.Call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1, Mobile: width < 500})
	require.NoError(t, err)
	_, err = chromedp.Call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: mode}}})
	require.NoError(t, err)
}

// unfold opens everything that a reader can open.
const unfold = `document.querySelectorAll("details").forEach((d) => { d.open = true; })`

// layout holds each width to what layout.js asks for, folded and unfolded. Modes differ in colours alone.
func (p *tab) layout(t *testing.T, name string) {
	dir := os.Getenv("LATENT_SCREENSHOTS")
	for _, width := range widths {
		p.look(t, width, modes[0])
		assert.Empty(t, ask[[]string](t, p, layout), "at %d pixels", width)
		for _, mode := range modes {
			if dir != "" {
				p.look(t, width, mode)
				p.picture(t, filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", strings.ReplaceAll(name, " ", "-"), width, mode)))
			}
		}
	}
	ask[chromedp.Void](t, p, unfold)
	for _, width := range widths {
		p.look(t, width, modes[1])
		assert.Empty(t, ask[[]string](t, p, layout), "unfolded, at %d pixels", width)
	}
	p.do(t, chromedp.Reload())
}

// picture writes the whole page as PNG.
func (p *tab) picture(t *testing.T, file string) {
	png, err := chromedp.Run(p, chromedp.FullScreenshot(100))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, png, 0o600))
}

// keyboard goes through the page by the tabulator, and unfolds something by Enter.
func (p *tab) keyboard(t *testing.T) {
	wanted := ask[int](t, p, keyboard)
	require.Positive(t, wanted)
	var left []string
	for range 2 { // a browser has stops of its own, between those of the page
		p.do(t, chromedp.KeyEvent(strings.Repeat(kb.Tab, wanted)))
		if left = ask[[]string](t, p, `window.reached.missing.map(window.reached.name)`); len(left) == 0 {
			break
		}
	}
	assert.Empty(t, left, "not reached, in the order of the page, by the tabulator")
	assert.Empty(t, ask[[]string](t, p, `window.reached.hidden.map(window.reached.name)`), "reached without being marked")
	if !ask[bool](t, p, `document.querySelector("summary") !== null`) {
		return
	}
	ask[chromedp.Void](t, p, `document.querySelector("summary").focus()`)
	p.do(t, chromedp.KeyEvent(kb.Enter))
	assert.True(t, ask[bool](t, p, `document.querySelector("summary").parentElement.open`), "Enter unfolds")
}

// choice goes through the classes of a page that has them to be chosen, by the arrow keys: what is said of one is shown, and its
// column of the figure is framed.
func (p *tab) choice(t *testing.T) {
	n := ask[int](t, p, `document.querySelectorAll(".choose input").length`)
	if n == 0 {
		return
	}
	assert.Positive(t, ask[int](t, p, `document.querySelectorAll("rect.chosen").length`))
	ask[chromedp.Void](t, p, `document.querySelector(".choose input:checked").focus()`)
	for i := range n {
		shown := ask[[]string](t, p, `[...document.querySelectorAll(".told")].filter((e) => e.checkVisibility()).map((e) => e.querySelector("strong").textContent)`)
		require.Len(t, shown, 1)
		assert.Regexp(t, fmt.Sprintf(` %d$`, i+1), shown[0])
		framed := ask[[]string](t, p, `[...new Set([...document.querySelectorAll("rect.chosen")].filter((e) => getComputedStyle(e).stroke !== "none").map((e) => e.classList[1]))]`)
		assert.Equal(t, []string{fmt.Sprintf("h%d", i+1)}, framed)
		p.do(t, chromedp.KeyEvent(kb.ArrowDown))
	}
	assert.True(t, ask[bool](t, p, `document.querySelector(".choose input").checked`), "after the last comes the first")
}

// thin takes away all but some of what a page repeats, such as the rows of a long table, of each of which the same can be said.
const thin = `document.querySelectorAll("tbody tr:nth-child(n+12), circle:nth-of-type(n+12), rect:nth-of-type(n+12)").forEach((e) => e.remove())`

// names reads the page as a screen reader does: everything that it announces has a name, and figures a description.
func (p *tab) names(t *testing.T) {
	ask[chromedp.Void](t, p, thin)
	ask[chromedp.Void](t, p, unfold)
	tree, err := chromedp.Call(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	require.NoError(t, err)
	text := func(v *accessibility.Value) string {
		var s string
		if v != nil {
			require.NoError(t, json.Unmarshal(v.Value, &s))
		}
		return s
	}
	found := map[string]int{}
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		role := text(n.Role)
		switch role {
		case "image", "table", "region", "heading", "DisclosureTriangle":
			found[role]++
			assert.NotEmpty(t, strings.TrimSpace(text(n.Name)), "the name of a %s", role)
		}
		if role == "image" {
			assert.NotEmpty(t, text(n.Description), "the description of the figure %q", text(n.Name))
		}
	}
	assert.Equal(t, ask[int](t, p, `document.querySelectorAll("figure > svg").length`), found["image"], "figures that are announced")
	assert.Equal(t, ask[int](t, p, `document.querySelectorAll("table").length`), found["table"], "tables that are announced")
	assert.Positive(t, found["heading"])
}

// rules are those of axe-core, if npm has fetched it.
func rules(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	return string(text)
}

// accessible holds the page to the rules of axe-core, unfolded, in each mode.
func (p *tab) accessible(t *testing.T, axe string) {
	if axe == "" {
		t.Skip("axe-core is not at hand: run npm ci")
	}
	for _, script := range []string{thin, unfold, axe} {
		ask[chromedp.Void](t, p, script)
	}
	for i, mode := range modes {
		p.look(t, widths[2*i], mode)
		assert.Empty(t, ask[[]string](t, p, `axe.run({ preload: false, resultTypes: ["violations"] }).then(({ violations }) =>
			violations.flatMap((rule) => rule.nodes.map((node) => rule.id + ": " + node.html.slice(0, 200) + ": " + node.failureSummary)))`), mode)
	}
}
