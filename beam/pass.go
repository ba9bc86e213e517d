package beam

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.DoFn3x1[context.Context, Task, func(Task), error](&passFn{})
	register.Emitter1[Task]()
	sdk.RegisterType(reflect.TypeFor[Task]())
}

// A Task is an element of the pipeline of a pass: shards First to Last−1.
type Task struct{ First, Last int }

// tasks divides shards into parts of nearly one size.
func tasks(shards, parts int) []Task {
	parts = max(1, min(parts, shards))
	list := make([]Task, parts)
	for i := range list {
		list[i] = Task{shards * i / parts, shards * (i + 1) / parts}
	}
	return list
}

// pipelineOf is the pipeline that makes tasks by the order in a folder.
func pipelineOf(dir, orderHash string, todo []Task) *sdk.Pipeline {
	p, root := sdk.NewPipelineWithRoot()
	elements := sdk.CreateList(root, todo)
	if len(todo) > 1 {
		elements = sdk.Reshuffle(root, elements)
	}
	made := sdk.ParDo(root, &passFn{Dir: dir, Order: orderHash}, elements)
	sdk.Reshuffle(root, made) // Prism spins while it waits for a stage that no other follows
	return p
}

// A passFn makes tasks, in a worker.
type passFn struct {
	Dir   string // of the pass
	Order string // hash of the order
}

// A part is the outcome of a task.
type part struct {
	Order   string // that it answers
	Text    []byte // of framework.Share
	Failure string // where there is none
}

// ProcessElement makes a task and leaves the outcome in the folder. Whatever is wrong with rows or model is an outcome
// too: another attempt would end as this one did. An error is of the folder alone.
func (f *passFn) ProcessElement(ctx context.Context, t Task, made func(Task)) error {
	text, err := unseal(filepath.Join(f.Dir, orderName))
	if err != nil {
		return err
	}
	if hashOf(text) != f.Order {
		return fmt.Errorf("%s has another order than the pipeline was made for", f.Dir)
	}
	p := part{Order: f.Order}
	var o order
	if err := decode(text, &o); err != nil {
		return err
	}
	p.Text, err = o.answer(ctx, t)
	if ctx.Err() != nil { // of a worker whom nobody asks any more; the text says so too, in words of a fit's
		return ctx.Err()
	}
	if err != nil {
		host, _ := os.Hostname()
		p.Text, p.Failure = nil, fmt.Sprintf("worker on %s: %v", host, err)
	}
	if text, err = encode(p); err != nil {
		return err
	}
	if err := seal(t.path(f.Dir), text); err != nil {
		return err
	}
	made(t)
	return nil
}
