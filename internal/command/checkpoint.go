package command

import (
	"cmp"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/atomicfile"
	"github.com/latent-go/latent/internal/crew"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/sealed"
	"github.com/latent-go/latent/internal/tables"
)

// checkpointFlags keep the progress of long fits.
type checkpointFlags struct {
	Checkpoint     string `placeholder:"FILE" help:"Save the progress to FILE every second and on an interrupt. The same command on the same data continues from there, to the same result. The file is removed at the end."`
	KeepCheckpoint bool   `help:"Keep the file of --checkpoint at the end: a fit that ended at --max-iter continues if --max-iter is raised."`
}

// A keeper writes the progress of fits to a file, and finds there what an earlier command has written. A nil keeper
// does nothing.
type keeper struct {
	path  string
	leave bool
	// silent is that of a process which is not the first of its group: it follows the progress, for its fits to go on from
	// there, and leaves the file alone.
	silent bool
	state  kept
	*surroundings

	saved  time.Time
	cost   time.Duration // of the last write
	part   string        // the fit under way
	latest func() ([]byte, error)
	fault  error // of the last write
	exists bool  // the file has been written, or was there
}

// kept is what the file holds.
type kept struct {
	Version string            // of latent, with the kernels in use
	Plan    map[string]string // the flags and columns that decide the result
	Parts   map[string][]byte // the engine's checkpoint of each fit
}

const (
	checkpointHeader = "latent command checkpoint 1"
	// A checkpoint is written when the last one is as old as least, or shares times as long as the last one took.
	checkpointLeast  = time.Second
	checkpointShares = 20
)

// surroundings are what keepers share with the process.
type surroundings struct {
	host    Host       // what the program has set
	writing sync.Mutex // held while the file is written, so that the process does not end then
	now     func() time.Time
	leave   context.CancelCauseFunc // ends the command; nil in tests
}

// surroundingsKey is their key in the context of a session.
type surroundingsKey struct{}

// keep opens --checkpoint for a command whose flags are given; nil where there is none.
func (f *checkpointFlags) keep(s *session, command any, in *tables.Input) (*keeper, error) {
	if f.Checkpoint == "" {
		return nil, nil
	}
	k := &keeper{
		path: f.Checkpoint, leave: f.KeepCheckpoint, silent: !s.crew.Writes(), surroundings: &surroundings{now: time.Now},
	}
	if shared, ok := s.Value(surroundingsKey{}).(*surroundings); ok {
		k.surroundings = shared
	}
	k.state = kept{Version: version(), Plan: plan(command), Parts: map[string][]byte{}}
	k.state.Plan["columns"] = strings.Join(in.Names, ", ")
	k.saved = k.now()
	parts, err := crew.FromFirst(s, s.crew, func() (map[string][]byte, error) {
		err := k.open()
		return k.state.Parts, err
	})
	if err == nil && k.silent {
		maps.Copy(k.state.Parts, parts)
	}
	return k, err
}

// checkKept refuses --keep-checkpoint alone.
func (f *checkpointFlags) checkKept() error {
	if f.Checkpoint == "" && f.KeepCheckpoint {
		return misused("--keep-checkpoint requires --checkpoint")
	}
	return nil
}

// checkpoint is the file of --checkpoint, as [session.checkWritten] takes it.
func (f *checkpointFlags) checkpoint() written {
	return written{flag: "--checkpoint", path: f.Checkpoint, read: true}
}

// samePath reports whether a file, which need not be there yet, will be that of a target.
func samePath(other string, target atomicfile.Target) bool {
	if other == "" {
		return false
	}
	t, err := atomicfile.Locate(other)
	if err != nil {
		t.Path = other // a folder, perhaps, that is to be made
	}
	one, failed := filepath.Abs(t.Path)
	two, fault := filepath.Abs(target.Path)
	return failed == nil && fault == nil && one == two
}

// undecisive flags change how a command runs and what it writes, but not what it finds.
var undecisive = []string{"data", "limit", "workers", "format", "max-iter", "out", "report", "assignments",
	"components", "id", "label", "bootstrap", "checkpoint", "keep-checkpoint"}

// plan lists the flags of a command that decide its result, as they are given.
func plan(command any) map[string]string {
	list := map[string]string{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			field := v.Type().Field(i)
			switch {
			case field.Type == reflect.TypeFor[kong.Plugins]():
				for _, own := range v.Field(i).Interface().(kong.Plugins) {
					walk(reflect.ValueOf(own).Elem())
				}
			case field.Anonymous:
				walk(v.Field(i))
			case field.IsExported():
				if name := flagName(field); !slices.Contains(undecisive, name) {
					text, _ := json.Marshal(v.Field(i).Interface())
					list["--"+name] = strings.Trim(strings.TrimPrefix(string(text), "null"), `"`)
				}
			}
		}
	}
	walk(reflect.ValueOf(command).Elem())
	return list
}

// flagName is a field's name as a flag.
func flagName(field reflect.StructField) string {
	if name := field.Tag.Get("name"); name != "" {
		return name
	}
	var name strings.Builder
	for i, r := range field.Name {
		if i > 0 && 'A' <= r && r <= 'Z' && field.Name != strings.ToUpper(field.Name) {
			name.WriteByte('-')
		}
		name.WriteRune(r)
	}
	return strings.ToLower(name.String())
}

// refuse is an error about the file, and what to do.
func (k *keeper) refuse(format string, args ...any) error {
	return faults.Rendered(fmt.Sprintf("--checkpoint %s %s: name another file, or remove it to begin anew", k.path,
		fmt.Sprintf(format, args...)))
}

// explain says which file it was that the engine refused.
func (k *keeper) explain(err error) error {
	if refused, ok := errors.AsType[*framework.CheckpointError](err); ok && k != nil {
		return k.refuse("%s", refused.Reason)
	}
	return err
}

// open reads the file where there is one.
func (k *keeper) open() error {
	text, err := atomicfile.ReadFile(k.path, math.MaxInt64-1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	k.exists = true
	header, values := sealed.Decoder(text)
	switch {
	case header != checkpointHeader:
		return k.refuse("is not a checkpoint of this version of latent")
	case values == nil:
		return k.refuse("is damaged: its checksum is wrong")
	}
	var there kept
	if err := values.Decode(&there); err != nil {
		return k.refuse("is damaged: %v", err)
	}
	if there.Version != k.state.Version {
		return k.refuse("was written by version %s, and this is %s", there.Version, k.state.Version)
	}
	names := maps.Clone(there.Plan)
	maps.Copy(names, k.state.Plan)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if here, there := k.state.Plan[name], there.Plan[name]; here != there {
			return k.refuse("belongs to another command: %s is %s in the checkpoint and %s here", name, cmp.Or(there, "nothing"),
				cmp.Or(here, "nothing"))
		}
	}
	k.state.Parts = there.Parts
	return nil
}

// attach makes options resume a part of the work, and keep its progress.
func (k *keeper) attach(part string, o *framework.Options) {
	if k == nil {
		return
	}
	k.fault = k.complete()
	k.part, k.latest = part, nil
	o.Resume = k.state.Parts[part]
	inner := o.Recorder
	o.Recorder = func(e framework.Event) error {
		k.latest = e.Checkpoint
		if k.now().Sub(k.saved) >= max(checkpointLeast, checkpointShares*k.cost) {
			k.save()
		}
		return inner(e)
	}
}

// save writes the file. A fit goes on where that fails: there is more to lose.
func (k *keeper) save() {
	if k.silent {
		return
	}
	k.writing.Lock()
	defer k.writing.Unlock()
	began := k.now()
	if k.fault = k.write(); k.fault == nil {
		k.exists = true
	}
	k.saved = k.now()
	k.cost = k.saved.Sub(began)
}

// complete puts the part under way, as far as it is, to the others.
func (k *keeper) complete() error {
	if k.latest == nil {
		return nil
	}
	part, err := k.latest()
	if err == nil {
		k.state.Parts[k.part] = part
	}
	return err
}

func (k *keeper) write() error {
	if err := k.complete(); err != nil {
		return err
	}
	text, err := sealed.Encode(checkpointHeader, func(e *gob.Encoder) error { return e.Encode(k.state) })
	if err != nil {
		return err
	}
	return atomicfile.Write(k.path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// done removes the file of a command that is complete.
func (k *keeper) done(s *session) {
	switch {
	case k == nil:
		return
	case k.leave:
		k.save()
	case k.latest == nil && !k.exists:
		s.Note("--checkpoint %s: there were no iterations to keep", k.path)
	case k.exists:
		k.fault = atomicfile.Remove(k.path)
	}
	if k.fault != nil {
		s.Note("--checkpoint: %v", k.fault)
	}
}

// left says at the end of an interrupted command what there is of it; other errors stay.
func (k *keeper) left(err error) error {
	if !errors.Is(err, faults.ErrInterrupted) && !errors.Is(err, context.Canceled) {
		return k.explain(err)
	}
	if k != nil && k.latest != nil {
		k.save()
	}
	switch {
	case k != nil && k.fault != nil:
		return fmt.Errorf("%w: the progress could not be saved: %w", err, k.fault)
	case k != nil && k.exists:
		return fmt.Errorf("%w: the progress is in %s, and the same command continues from there", err, k.path)
	}
	return fmt.Errorf("%w: nothing was saved", err)
}
