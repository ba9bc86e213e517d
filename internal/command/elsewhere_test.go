package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// workers are three processes, in this one, that have opened a job.
type workers struct {
	opened [3]Opened
	made   *atomic.Int64 // by fits at the same time
	lost   error
}

func (w *workers) Make(ctx context.Context, state []byte, shards int) (parts [][]byte, err error) {
	if w.lost != nil {
		return nil, w.lost
	}
	w.made.Add(1)
	for i, o := range w.opened {
		part, err := o.Share(ctx, state, shards*i/3, shards*(i+1)/3, shards, 1)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func (w *workers) Close() error {
	for _, o := range w.opened {
		if err := o.Close(); err != nil {
			return err
		}
	}
	w.made.Store(-w.made.Load()) // closed
	return nil
}

// passing runs a command whose passes workers make, and returns how many of them.
func passing(t *testing.T, lost error, line string) (s said, made int) {
	t.Helper()
	var count atomic.Int64
	begin := func(ctx context.Context, j Job) (Passes, error) {
		w := &workers{made: &count, lost: lost}
		for i := range w.opened {
			o, err := Open(ctx, host, j)
			if err != nil {
				return nil, err
			}
			if o.Rows() != j.Rows {
				return nil, errors.New("other rows")
			}
			w.opened[i] = o
		}
		return w, nil
	}
	var out, errs bytes.Buffer
	status := Run(t.Context(), Host{Models: host.Models, Passes: begin, Name: "latent-x"}, strings.Fields(line), strings.NewReader(""), &out, &errs)
	return said{status, out.String(), errs.String()}, -int(count.Load())
}

func TestPassesMadeElsewhereHaveTheBitsOfTheCommand(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(missing, []byte("a,b,c,d,w\n1,2,3,4,1\n2,,1,9,2\n3,1,4,1,1\n5,9,2,,1\n6,5,3,5,3\n8,9,7,9,1\n3,2,3,8,1\n4,6,2,6,2\n4,3,3,8,1\n"), 0o666))
	for line, elsewhere := range map[string]bool{
		"fit --format json --restarts 1 --kmax 3":                                                                       true,
		"fit --format json --method em --k 3 --restarts 2 --max-iter 30":                                                true,
		"fit --format json --model bernmix --method vb --restarts 1 --kmax 4":                                           true,
		"fit --format json --model hmm --restarts 1 --max-iter 20":                                                      true,
		"fit --format json --model bpca --method closed-form":                                                           false,
		"fit --format json --model topics --restarts 1 --max-iter 9":                                                    false,
		"fit --format json --model regression --restarts 1 --response yn --drop yp,yb":                                  true,
		"fit --format json --missing keep --restarts 1 --kmax 2 --max-iter 30 --weights w --data " + missing:            true,
		"fit --format json --model factor --method em --k 1 --missing keep --max-iter 30 --weights w --data " + missing: false,
		"fit --format json --data iris --drop Species --gate Petal.Width --kmax 2 --restarts 1":                         true,
		"select --format json --kmax 2 --restarts 2 --max-iter 30":                                                      true,
		"select --format json --kmax 2 --restarts 2 --max-iter 30 --missing keep --label d --data " + missing:           true,
		"fit --format json --cov EII,VVI,VVV --kmax 3 --restarts 2 --max-iter 30":                                       true,
	} {
		t.Run(line, func(t *testing.T) {
			status, alone, errs := latent("", strings.Fields(line)...)
			require.Equal(t, statusDone, status, errs)
			s, made := passing(t, nil, line)
			require.Equal(t, statusDone, s.status, s.errors)
			want, got := timeless(t, alone), timeless(t, s.out)
			assert.Len(t, got, len(want))
			for name := range want {
				assert.True(t, reflect.DeepEqual(want[name], got[name]), name)
			}
			assert.Equal(t, elsewhere, made > 0, "%d passes", made)
			assert.Equal(t, !elsewhere, strings.Contains(s.errors, "was computed by this process"), s.errors)
		})
	}
}

func TestPassesMadeElsewhereEndInWords(t *testing.T) {
	s, _ := passing(t, errors.New("the cluster is gone"), "fit --restarts 1")
	assert.Equal(t, statusFailed, s.status)
	assert.Equal(t, "latent-x: the cluster is gone\n", s.errors)
	assert.Empty(t, s.out)
	saved := t.TempDir() + "/m.json"
	done(t, "fit", "--k", "1", "--out", saved)
	for args, want := range map[string]string{
		"fit --data -":    "latent-x: --data -: the workers of a cluster cannot read the standard input of this process: name a file\n",
		"select --data -": "latent-x: --data -: the workers of a cluster cannot read the standard input of this process: name a file\n",
		"fit --from " + saved + " --data faithful": "latent-x: --from " + saved + ": the workers of a cluster do not have it: fit without it, or by latent\n",
		"fit --bootstrap 20":                       "latent-x: --bootstrap fits tables that workers of a cluster do not have: fit without it, or by latent\n",
	} {
		s, _ := passing(t, nil, args)
		assert.Equal(t, statusUsage, s.status, args)
		assert.Contains(t, s.errors, want)
		assert.Empty(t, s.out)
	}
	alone, _ := done(t, "select", "--data", "iris", "--cov", "all", "--kmax", "2", "--restarts", "1", "--format", "json")
	s, made := passing(t, nil, "select --data iris --cov all --kmax 2 --restarts 1 --format json")
	assert.Equal(t, statusDone, s.status, s.errors)
	assert.Equal(t, timeless(t, alone), timeless(t, s.out))
	assert.NotZero(t, made)
	_, err := Open(t.Context(), host, Job{Args: []string{"datasets"}})
	assert.ErrorContains(t, err, "makes no passes")
	_, err = Open(t.Context(), host, Job{Args: []string{"fit"}, Data: "/nowhere/rows.csv"})
	assert.ErrorContains(t, err, "/nowhere/rows.csv: no such file")
}
