// Package command is the command latent, for the programs that run it: cmd/latent says what it does.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/atomicfile"
	"github.com/latent-go/latent/internal/crew"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/memory"
	"github.com/latent-go/latent/internal/panics"
	"github.com/latent-go/latent/internal/progress"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/report"
)

const (
	statusDone   = 0
	statusFailed = 1
	statusUsage  = 2
	statusDrift  = 3 // of predict --fail-on-drift
)

// Main runs the command with the arguments of the process, until it is done or the process is told to end, and returns
// the exit status. It is called once.
func Main(h Host) (status int) {
	if err := memory.Limits(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", h.name(), err)
		return statusFailed
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, leave := context.WithCancelCause(context.Background())
	around := &surroundings{host: h, now: time.Now, leave: leave}
	ctx, stop := signal.NotifyContext(context.WithValue(ctx, surroundingsKey{}, around), signals...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return answer(ctx, os.Stderr,
		func() int { return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr) },
		func() {
			<-time.After(patience)
			if !crewOf(h).Writes() { // the first process keeps its progress, and would be ended with this one
				<-time.After(keeping)
			}
			if !around.writing.TryLock() { // a checkpoint is being written, and the command has a word to say afterwards
				around.writing.Lock()
				<-time.After(patience)
			}
		},
		func() { atomicfile.Abandon() })
}

// patience is how long a command that was interrupted has to say itself how far it had come.
const patience = time.Second / 4

// keeping is how long the other processes of a group wait for the first one, beyond that.
const keeping = 2 * time.Second

// answer runs a command. Where it is interrupted in a step that does not look for that, such as one decomposition of a
// large matrix, the command is left after some patience, and what it was writing is abandoned.
func answer(ctx context.Context, stderr io.Writer, run func() int, wait, abandon func()) (status int) {
	ended := make(chan int, 1)
	go func() { ended <- run() }()
	select {
	case status := <-ended:
		return status
	case <-ctx.Done():
	}
	waited := make(chan struct{})
	go func() {
		wait()
		close(waited)
	}()
	select {
	case status := <-ended:
		return status
	case <-waited:
	}
	abandon()
	progress.On(stderr).Erase()
	_, _ = fmt.Fprintln(stderr, hostOf(ctx).name()+": "+withCause(ctx, errLeft).Error())
	return statusFailed
}

var errLeft = fmt.Errorf("%w before the command was complete; no file is half-written", faults.ErrInterrupted)

// generalFlags are those of every command.
type generalFlags struct {
	Memory sizeFlag `placeholder:"SIZE" help:"Use at most this much memory, such as 4GB. Default: the free memory of the system."`
	Quiet  bool     `xor:"log" help:"Write nothing but errors to standard error: no remarks, no progress."`
	Log    *string  `xor:"log" enum:"text,json" placeholder:"text|json" help:"Write standard error as a log, a line each with its time: errors, remarks and, every ten seconds, the progress of long work."`
}

type commands struct {
	generalFlags

	Fit      fitCommand      `cmd:"" example:"fit --data table.csv --report page" help:"Fit a model and choose its size. Without flags: gFAB with a Gaussian mixture on the embedded Old Faithful data."`
	Select   selectCommand   `cmd:"" example:"select --data table.csv --kmax 6" help:"Score every number of components, or of latent dimensions, in a range by several criteria."`
	Predict  predictCommand  `cmd:"" example:"predict model.json --data table.csv --out rows.csv" help:"Components, or latent means, and log-likelihood of each row under a saved model."`
	Check    checkCommand    `cmd:"" example:"check model.json --data table.csv" help:"Whether a saved model fits its table, and what to do if not."`
	After    afterCommand    `cmd:"" example:"after model.json --data table.csv --outcome income" help:"What differs between the classes of a saved model: outcomes that may follow from the class, and covariates that may say who is in which, corrected for rows in the wrong class."`
	Sample   sampleCommand   `cmd:"" help:"Draw rows from a saved model."`
	Datasets datasetsCommand `cmd:"" help:"List the embedded data sets."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
	Help     helpCommand     `cmd:"" help:"Describe all flags of a command, or the methods, priors and flags of a model."`

	Completion completionCommand `cmd:"" help:"Write the script by which a shell completes commands, flags and values."`
	Man        manCommand        `cmd:"" help:"Write the manual page, for man."`
}

// A session is one run of the command with its surroundings.
type session struct {
	*tables.Session // its notes are written after the result: an error comes alone
	stdout, stderr  io.Writer
	asides          []string
	quiet           bool         // of standard error: nothing but an error
	log             *slog.Logger // of --log; nil: lines for people
	complains       io.Writer    // standard error, for an error
	name            string       // of the program
	known           *registry
	crew            *crew.Crew        // the processes that run the command together
	args            []string          // of the command
	given           []*kong.Flag      // those among them
	passes          *told             // that are made elsewhere
	claims          map[string]func() // the files that it is to write, and what gives each back
	parts           *parts            // what rows are read from when they are asked for; nil: nothing
}

// close gives back what rows lie in, or are read from.
func (s *session) close() error {
	return errors.Join(s.Store.Close(), s.closeParts())
}

// unread is the error of a panic that rows which cannot be read have made; nil of any other.
func unread(recovered any) error {
	var e *blocks.ReadError
	switch fault := panics.Error(recovered); {
	case errors.Is(fault, panics.ErrFault):
		return fault
	case errors.As(fault, &e):
		return e.Err
	}
	return nil
}

// aside keeps a remark about where the fit was made: it is none about the model, whose file and JSON have those of
// Note as warnings.
func (s *session) aside(format string, args ...any) {
	s.asides = append(s.asides, fmt.Sprintf(format, args...))
}

func (s *session) writeNotes() {
	for _, note := range slices.Concat(s.asides, s.Notes) {
		if s.quiet {
			continue
		}
		if s.log != nil {
			s.log.Warn(note)
			continue
		}
		_, _ = fmt.Fprintln(s.stderr, s.name+": "+report.Printable(note))
	}
}

// run is the command as a function: it returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	s := sessionOf(ctx, stdin, stdout, stderr)
	if slices.Equal(args, []string{"--version"}) { // which other programs have
		args = []string{"version"}
	}
	s.args = args
	defer s.closePasses()
	defer s.release()
	debug.SetPanicOnFault(true)
	defer func() {
		if p := recover(); p != nil {
			err := fmt.Errorf("internal error, please report it: %v", p)
			if fault := unread(p); fault != nil {
				err = fault
			}
			status = s.fail(err)
		}
	}()
	var err error
	if s.known, err = registryOf(hostOf(ctx).Models); err != nil {
		return s.fail(faults.UsageError{Err: err})
	}
	answered := false // by kong: --help
	if err := s.crew.Meet(ctx, args); err != nil {
		return s.fail(err)
	}
	var all commands
	var failed error
	parser, err := newParser(&all, s.known, s.name, args, s.helping(false, &failed),
		kong.Exit(func(int) { answered = true }))
	if err != nil {
		return s.fail(err)
	}
	command, err := parser.Parse(args)
	if failed != nil {
		return s.fail(failed)
	}
	if answered {
		return statusDone
	}
	if err != nil {
		return s.fail(faults.UsageError{Err: s.withChoices(err, args)})
	}
	s.quiet = all.Quiet
	switch valueOr(all.Log, "") {
	case "json":
		s.log = slog.New(slog.NewJSONHandler(s.stderr, nil))
	case "text":
		s.log = slog.New(slog.NewTextHandler(s.stderr, nil))
	}
	for _, part := range command.Path {
		if part.Flag != nil {
			s.given = append(s.given, part.Flag)
		}
	}
	if err := checkGiven(s.given); err != nil {
		return s.fail(err)
	}
	boundMemory(ctx, all.Memory, s.crew.Neighbours())
	s.Store = data.NewStore(int64(min(memory.Available()/2, math.MaxInt64/2))) // a fit takes some too
	defer func() {
		if ctx.Err() == nil { // else somebody may still read
			s.close() //nolint:errcheck // what is mapped is not needed any more
		}
	}()
	if s.takesPart(command.Selected().Name) {
		err = command.Run(s)
	}
	if err == nil {
		err = s.crew.End(s, nil, statusDone)
	}
	if err != nil {
		return s.fail(err)
	}
	s.closePasses()
	s.writeNotes()
	return statusDone
}

// withChoices adds to an error of the parser what would be right: the commands where one
// was expected, the flags where one is unknown, and what stands in for an argument that is
// missing or too many.
func (s *session) withChoices(err error, args []string) error {
	var parse *kong.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	var names []string
	at := parse.Context
	command := at.Selected()
	extra, unexpected := strings.CutPrefix(err.Error(), "unexpected argument ")
	if command != nil && fits(command) {
		if others := s.known.ofOtherModels(err.Error(), args); others != nil {
			return others
		}
	}
	switch {
	case strings.HasPrefix(err.Error(), "unknown flag") && command != nil:
		problem, near, _ := strings.Cut(strings.TrimSuffix(err.Error(), "?"), ", did you mean ")
		if near != "" {
			near = strings.NewReplacer("one of ", "", `"`, "", ", ", " or ").Replace(near) + " is perhaps meant, and "
		}
		return fmt.Errorf("%s: %s%s help %s has all flags", problem, near, s.name, command.Name)
	case unexpected && command != nil && takes(command, "data"):
		return fmt.Errorf("%w: name data by --data %s", err, word(extra))
	case unexpected && command != nil:
		return fmt.Errorf("%w: see %s %s --help", err, s.name, command.Name)
	case command != nil && strings.HasPrefix(err.Error(), `expected "<model>"`):
		return fmt.Errorf("no model is named: give %s %s MODEL.json a file that %[1]s fit --out saved", s.name, command.Name)
	case command == nil:
		for _, command := range at.Model.Children {
			names = append(names, command.Name)
		}
		problem, _, _ := strings.Cut(err.Error(), ", did you mean")
		if strings.HasPrefix(problem, "expected") {
			problem = "no command"
		}
		return fmt.Errorf("%s: choose one of %s, or see %s --help", problem, strings.Join(names, ", "), s.name)
	}
	return err
}

// ofOtherModels says which models have a flag, or a value of one, that the model has not; nil where none has.
func (r *registry) ofOtherModels(problem string, args []string) error {
	flag, value := "", ""
	if name, unknown := strings.CutPrefix(problem, "unknown flag --"); unknown {
		flag, _, _ = strings.Cut(name, ",")
	} else if extra, unexpected := strings.CutPrefix(problem, "unexpected argument "); unexpected {
		if at := slices.Index(args, extra); at > 0 {
			flag, value = strings.TrimPrefix(args[at-1], "--"), extra
		}
	}
	names := r.modelsWith(flag, value)
	if len(names) == 0 {
		return nil
	}
	what := strings.TrimSpace("--" + flag + " " + value)
	return fmt.Errorf("%s is a flag of --model %s, and the model is %s", what,
		strings.Join(names, ", "), r.modelNamed(args))
}

func takes(command *kong.Node, name string) bool {
	return slices.ContainsFunc(command.Flags, func(f *kong.Flag) bool { return f.Name == name })
}

// fail reports an error in one line and returns the exit status that belongs to it. Of several processes, the first one
// reports what all of them have been told.
func (s *session) fail(err error) int {
	err = withCause(s, err)
	if err = s.crew.End(s, err, statusOf(err)); !s.crew.Speaks() {
		return statusOf(err)
	}
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return statusFailed // the reader of the output has gone, and knows it
	}
	if text := oneLine(err); s.log != nil && s.crew.Writes() {
		s.log.Error(text)
	} else {
		_, _ = fmt.Fprintln(s.complains, s.name+": "+report.Printable(text))
	}
	return statusOf(err)
}

// statusOf is the exit status of an error.
func statusOf(err error) int {
	var usage faults.UsageError
	var drifted driftError
	told, isTold := errors.AsType[crew.ToldError](err)
	switch {
	case err == nil:
		return statusDone
	case errors.As(err, &usage):
		return statusUsage
	case errors.As(err, &drifted):
		return statusDrift
	case isTold:
		return told.Status
	}
	return statusFailed
}
