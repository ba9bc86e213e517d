package framework

import (
	"context"
	"encoding/gob"
	"fmt"

	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/fingerprint"
	"github.com/latent-go/latent/internal/panics"
	"github.com/latent-go/latent/internal/parallel"
	"github.com/latent-go/latent/internal/wire"
	"github.com/latent-go/latent/laplace"
)

// An Executor is a [Source] whose passes run elsewhere, for example on a cluster: the engine asks it for a local step
// instead of reading blocks, and so does [Survey] at the start of a fit that is the model's own. What else begins a
// fit, such as [Condense] and the fingerprint of a checkpoint, still calls Rows and Blocks. Module beam provides an
// Executor on Apache Beam.
type Executor[P any] interface {
	// Step makes a local step of every shard, or the survey that at asks for, in any division and order, and returns the
	// result of [Share] for each part.
	Step(ctx context.Context, at State[P], shards int) ([][]byte, error)
}

// Elsewhere is src with the passes of by. It is [optional.Measured] if src is.
func Elsewhere[B, P any](src Source[B], by Executor[P]) Source[B] {
	s := elsewhere[B, P]{src, by}
	if m, ok := src.(optional.Measured); ok {
		return measuredElsewhere[B, P]{s, m}
	}
	return s
}

type elsewhere[B, P any] struct {
	Source[B]
	Executor[P]
}

func (e elsewhere[B, P]) here() (Source[B], bool) { return e.Source, true }

type measuredElsewhere[B, P any] struct {
	elsewhere[B, P]
	optional.Measured
}

// A State is the input of a local step, or of a survey, besides rows: plain data, which encoding/gob writes.
type State[P any] struct {
	Parameters P
	Model      int           // the model of [FitBest], from 0, that has the parameters
	Tilt       *laplace.Tilt // nil for none
	Check      bool          // check the form of blocks: in the first pass
	Surveys    *Surveys      // what the start of a fit asks for in place of a local step; nil for one
}

// Share makes a local step on shards first to last−1, and returns the sums and the entropy of q, or the error of the
// model or the source, as bytes for an [Executor]; of a survey it returns the sums. It returns an error itself if it
// cannot encode the sums.
func Share[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], at State[P], first, last, shards, workers int,
) ([]byte, error) {
	if err := needed(ctx, m, src); err != nil {
		return nil, err
	}
	if shards < 1 || first < 0 || last < first || shards < last {
		return nil, fmt.Errorf("framework: shards %d to %d of %d do not exist", first, last, shards)
	}
	if at.Surveys != nil {
		return surveyed(ctx, m, src, *at.Surveys, span{first, last, shards})
	}
	r := &run[B, P, S]{
		model: m, can: capabilitiesOf(m), options: Options{Shards: shards}, workers: workersOr(workers), condensed: src,
	}
	r.openSpan(ctx, span{first, last, shards})
	defer r.folder.close()
	r.p, r.tilt, r.sums, r.checkRows = at.Parameters, at.Tilt, newShardStats[S](shards), at.Check
	part, encode := r.part(ctx)
	part.Credential.Machine = machine()
	return part.encoded(encode)
}

// part makes this process's part of the local step under way. An error is in the message, and so is a panic.
func (r *run[B, P, S]) part(ctx context.Context) (m message, encode func(*gob.Encoder) error) {
	m.Kind = ofPass
	r.sums.tree.reset(r.folder.span)
	used, err := r.caught(ctx)
	if err != nil {
		m.Failure = failureOf(err, r.folder.at())
		return m, nil
	}
	s, b := r.folder.span, r.sums
	m.Rows, m.Roots = r.seen.Load(), s.roots(used)
	for _, i := range m.Roots {
		m.Entropy = append(m.Entropy, b.entropy[i])
	}
	return m, writeShards(func(i int) any { return &b.sums[i] }, m.Roots)
}

// jointly is the local step under way, made by all processes of a group.
func (r *run[B, P, S]) jointly(ctx context.Context, e *ensemble) (float64, error) {
	m, encode := r.part(ctx)
	m.State = fingerprint.Hash(r.p)
	parts, err := e.exchange(ctx, m, encode)
	if err != nil {
		return 0, parallel.Reraise(err)
	}
	return r.collect(parts, e.rank)
}

// execution is the local step under way, made elsewhere.
func (r *run[B, P, S]) execution(ctx context.Context, by Executor[P]) (float64, error) {
	texts, err := by.Step(ctx, State[P]{
		Parameters: r.p, Model: r.number, Tilt: r.tilt, Check: r.checkRows,
	}, r.options.Shards)
	if err != nil {
		return 0, &sourceError{err}
	}
	parts, err := readAlike(texts)
	if err != nil {
		return 0, err
	}
	return r.collect(parts, -1)
}

// readAlike reads messages of workers, which round as this process does, or the failure of the first block.
func readAlike(texts [][]byte) ([]reply, error) {
	parts, err := read(texts)
	if err != nil {
		return nil, &sourceError{err}
	}
	for _, p := range parts {
		if here, there := machine(), p.Credential.Machine; there != here {
			return nil, &sourceError{
				fmt.Errorf("framework: a worker rounds differently from this process: the worker is %s, this "+
					"process %s", there, here),
			}
		}
	}
	if _, f := earliest(parts); f != nil {
		return nil, f
	}
	return parts, nil
}

// read reads messages.
func read(texts [][]byte) ([]reply, error) {
	parts := make([]reply, len(texts))
	for i, text := range texts {
		parts[i].sums = wire.NewDecoder(text)
		if err := parts[i].sums.Decode(&parts[i].message); err != nil {
			return nil, fmt.Errorf("framework: cannot read the message of process %d: %w", i, err)
		}
	}
	return parts, nil
}

// earliest is the failure in the first of the blocks, nil if there is none, and the part that it is of.
func earliest(parts []reply) (of int, first *failure) {
	for i, p := range parts {
		if p.Failure != nil && (first == nil || p.Failure.Block < first.Block) {
			of, first = i, p.Failure
		}
	}
	return of, first
}

// caught makes a pass; a panic is an error, for the others to know.
func (r *run[B, P, S]) caught(ctx context.Context) (used int, err error) {
	defer func() {
		if p := panics.Of(recover()); p != nil {
			used, err = 0, p
		}
	}()
	return r.folder.run(ctx)
}

// collect takes in the sums of all parts of a pass and merges them, into the first shard. Those of the part mine, −1
// for none, are there.
func (r *run[B, P, S]) collect(parts []reply, mine int) (entropy float64, err error) {
	b, shards := r.sums, r.options.Shards
	all := &shardStats[S]{sums: make([]S, shards), entropy: b.entropy}
	has, err := readShards(parts, shards, func(of, j, i int) (into any, err error) {
		if j >= len(parts[of].Entropy) {
			return nil, strayShard(i, shards)
		}
		if of == mine {
			all.sums[i] = b.sums[i]
			return nil, nil
		}
		if i == 0 { // what is left needs the scratch memory of its type
			if all.sums[0], err = r.prepared(0); err != nil {
				return nil, err
			}
		}
		b.entropy[i] = parts[of].Entropy[j]
		return &all.sums[i], nil
	})
	if err != nil {
		return 0, err
	}
	rows := int64(0)
	for _, part := range parts {
		rows += part.Rows
	}
	if err := r.checkSeen(rows); err != nil {
		return 0, err
	}
	b.sums[0] = all.sums[0]
	return b.entropy[0], mergeRoots(shards, has, all.merge)
}

// readShards reads the sums of all parts, each shard once, the first among them: sum j of part of, which is shard i,
// into what into returns, nil if it is there.
func readShards(
	parts []reply, shards int, into func(of, j, i int) (any, error),
) (has []bool, err error) {
	has = make([]bool, shards)
	for of, part := range parts {
		for j, i := range part.Roots {
			if i < 0 || i >= shards || has[i] {
				return nil, strayShard(i, shards)
			}
			has[i] = true
			to, err := into(of, j, i)
			if err != nil {
				return nil, err
			}
			if to == nil {
				continue
			}
			if err := part.sums.Decode(to); err != nil {
				return nil, &sourceError{fmt.Errorf("framework: cannot read the sums of shard %d: %w", i, err)}
			}
		}
	}
	if !has[0] {
		return nil, errNoRows
	}
	return has, nil
}

func strayShard(i, shards int) error {
	return &sourceError{fmt.Errorf("framework: shard %d of %d came twice, incomplete or without being asked for", i,
		shards)}
}

// writeShards writes the sums of some shards, to which at has pointers.
func writeShards(at func(shard int) any, list []int) func(*gob.Encoder) error {
	return func(enc *gob.Encoder) error {
		for _, i := range list {
			if err := enc.Encode(at(i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// prepared is the empty sum of a shard.
func (r *run[B, P, S]) prepared(shard int) (S, error) {
	if !r.can.follows {
		s := r.sum(shard)
		return s, r.model.Prepare(r.p, r.tilt, s)
	}
	lead := r.folder.span.first
	if err := r.led(lead); err != nil || shard == lead {
		return r.sums.sums[lead], err
	}
	s := r.sum(shard)
	any(s).(optional.Follower[S]).Follow(r.sums.sums[lead])
	return s, nil
}

// led prepares the sum of a shard once a pass, for those of the others to follow.
func (r *run[B, P, S]) led(shard int) error {
	l := &r.lead
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ready {
		l.err = r.model.Prepare(r.p, r.tilt, r.sum(shard))
		l.ready = true // not after a panic
	}
	return l.err
}

// sum is the statistics of a shard.
func (r *run[B, P, S]) sum(shard int) S {
	b := r.sums
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.spare); !b.made[shard] && n > 0 {
		b.sums[shard], b.spare, b.made[shard] = b.spare[n-1], b.spare[:n-1], true
	}
	if !b.made[shard] {
		b.sums[shard], b.made[shard] = r.model.NewStatistics(r.p), true
	}
	b.entropy[shard] = 0
	return b.sums[shard]
}
