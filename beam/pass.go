package beam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// A run is one pipeline, or several, one after another, where one of them fails. Its elements are slots: a worker that
// has one makes tasks of the passes that the board of the run's folder names, until the board says that it is over.
// So a pass is no job, and costs some files: the driver writes the order of the pass and then its name on the board,
// workers write a claim and then the sums of a task, and the driver reads them. A worker that has no task of its own
// left makes those of others that nobody has claimed, or whose claim has not changed for a while, as its worker is
// gone. Two that make the same task write the same sums.

func init() {
	register.DoFn3x1[context.Context, Slot, func(Slot), error](&workFn{})
	register.Emitter1[Slot]()
	register.Function1x0(endFn)
	sdk.RegisterType(reflect.TypeFor[Slot]())
}

// A Slot is an element of the pipeline of a run: a place for a worker.
type Slot struct{ Index int }

// A task is shards First to Last−1 of a pass.
type task struct{ First, Last int }

// tasks divides shards into parts of nearly one size.
func tasks(shards, parts int) []task {
	parts = max(1, min(parts, shards))
	list := make([]task, parts)
	for i := range list {
		list[i] = task{shards * i / parts, shards * (i + 1) / parts}
	}
	return list
}

func endFn(Slot) {}

// pipelineOf is the pipeline of a run.
func pipelineOf(dir string, slots int) *sdk.Pipeline {
	p, root := sdk.NewPipelineWithRoot()
	list := make([]Slot, slots)
	for i := range list {
		list[i].Index = i
	}
	elements := sdk.CreateList(root, list)
	if slots > 1 {
		elements = sdk.Reshuffle(root, elements)
	}
	done := sdk.ParDo(root, &workFn{Dir: dir}, elements)
	sdk.ParDo0(root, endFn, sdk.Reshuffle(root, done))
	return p
}

// boardName is that of the file with a [board]; other files of a run belong to a pass, and have its name before theirs.
const boardName = "board"

// A board is what workers look at.
type board struct {
	Beat   int               // changes while the driver lives
	Passes map[string]string // those under way, and the hashes of their orders
	Over   bool
}

func passName(n int) string { return fmt.Sprintf("pass-%d-", n) }

const (
	orderName = "order"
	claimName = "claim-"
	sumsName  = "sums-"
)

// A part is the outcome of a task.
type part struct {
	Order   string // that it answers
	Text    []byte // of framework.Share
	Failure string // where there is none
}

const (
	beat = time.Second // how often driver and workers say that they live
	// silence is how long a worker may say nothing until others make its task.
	silence = 10 * beat
	// absence is how long the driver may say nothing until workers leave the run.
	absence = 60 * beat
)

// A poll is how often somebody looks for something: after a fiftieth of the time that it has taken so far.
type poll struct{ since time.Time }

const (
	soonest = time.Millisecond
	latest  = 100 * time.Millisecond
)

func (p *poll) again() { p.since = time.Now() }

func (p *poll) wait(ctx context.Context) error {
	return pause(ctx, min(max(time.Since(p.since)/50, soonest), latest))
}

// A workFn is a worker of a run.
type workFn struct {
	Dir string // of the run
}

// ProcessElement makes tasks until the run is over. Whatever is wrong with rows or model is an outcome of a task:
// another attempt would end as this one did. An error is of the folder alone.
func (f *workFn) ProcessElement(ctx context.Context, s Slot, over func(Slot)) error {
	folder, err := openFolder(ctx, f.Dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	host, _ := os.Hostname()
	w := &hand{Folder: folder, slot: s.Index, host: host, at: map[string]*taken{},
		name: fmt.Sprintf("%s %d %016x", host, os.Getpid(), rand.Uint64())}
	if err := w.work(ctx); err != nil {
		return err
	}
	over(s)
	return nil
}

// A hand is a worker in a slot.
type hand struct {
	Folder
	slot       int
	host, name string
	at         map[string]*taken // passes under way
	changed    time.Time         // the board, as this worker saw it
}

// taken is a pass as a worker knows it.
type taken struct {
	order
	hash   string
	tasks  []task
	claims map[int]sighting // of others
}

// A sighting is a claim, and when it was first seen as it is.
type sighting struct {
	text  string
	first time.Time
}

var errNoDriver = errors.New("the driver of the run has not said for a minute that it lives")

func (w *hand) work(ctx context.Context) error {
	b := board{Beat: -1}
	for idle := (poll{time.Now()}); ; {
		var now board
		if err := get(ctx, w, boardName, &now); err != nil {
			return err
		}
		if err := w.gone(&b, now, time.Now()); err != nil || b.Over {
			return err
		}
		maps.DeleteFunc(w.at, func(pass string, _ *taken) bool { return b.Passes[pass] == "" })
		busy := false
		for _, pass := range slices.Sorted(maps.Keys(b.Passes)) {
			made, err := w.one(ctx, pass, b.Passes[pass])
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // the pass may have ended since
				return err
			}
			busy = busy || made
		}
		if busy {
			idle.again()
			continue
		}
		if err := idle.wait(ctx); err != nil {
			return err
		}
	}
}

// gone looks at the board, as it was before and is now, and is an error where the driver has not changed it for long.
func (w *hand) gone(b *board, now board, at time.Time) error {
	if now.Beat != b.Beat {
		w.changed = at
	}
	*b = now
	if at.Sub(w.changed) > absence {
		return errNoDriver
	}
	return nil
}

// one makes a task of a pass, if one is left.
func (w *hand) one(ctx context.Context, pass, hash string) (made bool, err error) {
	t := w.at[pass]
	if t == nil {
		t = &taken{hash: hash, claims: map[int]sighting{}}
		if err := get(ctx, w, pass+orderName, &t.order); err != nil {
			return false, err
		}
		t.tasks = tasks(t.Shards, t.Parts)
		w.at[pass] = t
	}
	if t.tasks == nil {
		return false, nil
	}
	i, err := w.choose(ctx, pass, t)
	if err != nil || i < 0 {
		return false, err
	}
	return true, w.make(ctx, pass, t, i)
}

// choose finds a task that nobody makes, −1 for none.
func (w *hand) choose(ctx context.Context, pass string, t *taken) (int, error) {
	names, err := w.List(ctx, pass)
	if err != nil {
		return -1, err
	}
	claimed, summed := make([]bool, len(t.tasks)), make([]bool, len(t.tasks))
	for _, name := range names {
		for kind, is := range map[string][]bool{claimName: claimed, sumsName: summed} {
			text, has := strings.CutPrefix(name, pass+kind)
			if i, err := strconv.Atoi(text); has && err == nil && i < len(is) {
				is[i] = true
			}
		}
	}
	left := false
	for i := range t.tasks {
		i = (w.slot + i) % len(t.tasks)
		if !summed[i] && !claimed[i] {
			return i, nil
		}
		left = left || !summed[i]
	}
	if !left {
		t.tasks = nil
		return -1, nil
	}
	for i := range t.tasks {
		if summed[i] {
			continue
		}
		text, err := w.Get(ctx, pass+claimName+strconv.Itoa(i))
		if err != nil {
			return -1, err
		}
		if seen := t.claims[i]; seen.text != string(text) {
			t.claims[i] = sighting{string(text), time.Now()}
		} else if time.Since(seen.first) > silence {
			return i, nil
		}
	}
	return -1, nil
}

// make makes a task, and leaves the outcome in the folder.
func (w *hand) make(ctx context.Context, pass string, t *taken, i int) error {
	claim := func(n int) error {
		return w.Put(ctx, pass+claimName+strconv.Itoa(i), fmt.Appendf(nil, "%s %d", w.name, n))
	}
	if err := claim(0); err != nil {
		return err
	}
	beating, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := 1; pause(beating, beat) == nil; n++ {
			_ = claim(n) // without it others make the task, too
		}
	}()
	p := part{Order: t.hash}
	text, err := t.answer(ctx, t.tasks[i])
	stop()
	<-ended
	if ctx.Err() != nil { // of a worker whom nobody asks any more; the error says so too, in words of a fit's
		return ctx.Err()
	}
	if p.Text = text; err != nil {
		p.Text, p.Failure = nil, fmt.Sprintf("worker on %s: %v", cmp.Or(w.host, "?"), err)
	}
	_, err = put(ctx, w, pass+sumsName+strconv.Itoa(i), p)
	return err
}
