package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	flatbuffers "github.com/google/flatbuffers/go"
)

// An arrowFile is of Arrow's stream format, or of its file format, which is a stream with a directory behind it. Record
// batches are found by the heads of messages, and read from any one on.
type arrowFile struct {
	*ipc.Reader // of the batches from some one on
	file        *os.File
	limits      []ipc.Option
	end         int64   // of the stream
	schema      message // the first
	batches     []recordBatch
	next        int               // batch that the reader is at
	batch       arrow.RecordBatch // the one before it; the reader's, and there until the next one is read
}

// A message is where one of a stream lies.
type message struct{ at, size int64 }

// A recordBatch is a message with rows.
type recordBatch struct {
	message
	rows         int
	dictionaries []dictionary // that its columns may have
}

type dictionary struct {
	message
	id int64
}

// openArrow reads the heads of messages: the first is at a place of the file.
func openArrow(f *os.File, at int64) (source, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// A message may be as large as the file: Arrow's own limit is 256 MiB, which batches of large tables exceed.
	a := &arrowFile{file: f, end: info.Size(),
		limits: []ipc.Option{ipc.WithMetadataSizeLimit(info.Size()), ipc.WithBodySizeLimit(info.Size())}}
	format := "stream"
	if at > 0 {
		format = "file"
		err = a.trim()
	}
	if err == nil {
		err = guarded(func() error { return a.index(at, at > 0) })
	}
	if err == nil {
		err = a.begin(0)
	}
	if err != nil {
		return nil, fmt.Errorf("incomplete or damaged Arrow %s: %w", format, err)
	}
	return a, nil
}

var errMessage = errors.New("a message does not end within it")

// trim leaves out the directory of the file format, whose length is before the last magic.
func (f *arrowFile) trim() error {
	tail := make([]byte, 4+len(arrowMagic))
	if _, err := f.file.ReadAt(tail, max(0, f.end-int64(len(tail)))); err != nil && err != io.EOF {
		return err
	}
	f.end -= int64(len(tail)) + int64(binary.LittleEndian.Uint32(tail))
	if string(tail[4:]) != arrowMagic || f.end < 0 {
		return errors.New("its end is missing")
	}
	return nil
}

// What a message has, in its head and in that of what it carries: places in tables of flatbuffers (Message.fbs of
// Arrow's format).
const (
	ofKind, ofHeader, ofBody = 6, 8, 10
	ofRows                   = 4 // of a batch
	ofID, ofDelta            = 4, 8
	aSchema, aDictionary     = 1, 2
	aBatch                   = 3
	ofFields, ofMetadata     = 6, 8 // of a schema
	ofChildren, ofFieldsOwn  = 14, 16
)

// mostNested bounds how deep columns are within columns.
const mostNested = 64

// within reports whether the lists of a schema, or of one of its fields, and of the fields below it have no more
// entries in all than are left: readers make room for as many as are claimed.
func within(t flatbuffers.Table, fields, metadata flatbuffers.VOffsetT, depth int, left *int) bool {
	for _, list := range []flatbuffers.VOffsetT{fields, metadata} {
		at := flatbuffers.UOffsetT(t.Offset(list))
		if at == 0 {
			continue
		}
		n, first := t.VectorLen(at), t.Vector(at)
		if *left -= n; *left < 0 || depth > mostNested {
			return false
		}
		for i := 0; list == fields && i < n; i++ {
			child := flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(first + flatbuffers.UOffsetT(4*i))}
			if !within(child, ofChildren, ofFieldsOwn, depth+1, left) {
				return false
			}
		}
	}
	return true
}

// index finds the messages of the stream. In the file format, all dictionaries are of all batches.
func (f *arrowFile) index(at int64, whole bool) error {
	var current []dictionary // extensions of one follow it
	for at < f.end {
		begin, head, err := f.head(at)
		if err != nil {
			return err
		}
		if head == nil {
			break
		}
		root := flatbuffers.Table{Bytes: head, Pos: flatbuffers.GetUOffsetT(head)}
		one := message{at, int64(begin+len(head)) + root.GetInt64Slot(ofBody, 0)}
		if one.size < int64(len(head)) || one.size > f.end-at {
			return errMessage
		}
		at += one.size
		var header flatbuffers.Table
		if o := root.Offset(ofHeader); o != 0 {
			root.Union(&header, flatbuffers.UOffsetT(o))
		}
		switch root.GetByteSlot(ofKind, 0) {
		case aSchema:
			f.schema = one
			if left := len(head) / 4; !within(header, ofFields, ofMetadata, 0, &left) {
				return errors.New("its schema has more columns than it has room for")
			}
		case aDictionary:
			id := header.GetInt64Slot(ofID, 0)
			if !header.GetBoolSlot(ofDelta, false) {
				current = slices.DeleteFunc(slices.Clone(current), func(d dictionary) bool { return d.id == id })
			}
			current = append(slices.Clip(current), dictionary{one, id})
		case aBatch:
			f.batches = append(f.batches, recordBatch{one, int(header.GetInt64Slot(ofRows, 0)), current})
		}
	}
	for i := range f.batches {
		if whole {
			f.batches[i].dictionaries = current
		}
	}
	return nil
}

// head reads the head of a message, which begins so many bytes after the message; nil at the end of the stream.
func (f *arrowFile) head(at int64) (begin int, head []byte, err error) {
	prefix := make([]byte, 8)
	if _, err := f.file.ReadAt(prefix, at); err != nil && err != io.EOF {
		return 0, nil, err
	}
	length := int64(binary.LittleEndian.Uint32(prefix))
	if begin = 4; string(prefix[:4]) == streamMagic {
		begin, length = 8, int64(binary.LittleEndian.Uint32(prefix[4:]))
	}
	if length == 0 {
		return 0, nil, nil
	}
	if length > f.end-at-int64(begin) {
		return 0, nil, errMessage
	}
	head = make([]byte, length)
	_, err = f.file.ReadAt(head, at+int64(begin))
	return begin, head, err
}

// begin has the batches be read from batch i on.
func (f *arrowFile) begin(i int) error {
	var all []io.Reader
	add := func(m message) { all = append(all, io.NewSectionReader(f.file, m.at, m.size)) }
	add(f.schema)
	if i < len(f.batches) {
		b := f.batches[i]
		for _, d := range b.dictionaries {
			add(d.message)
		}
		add(message{b.at, f.end - b.at})
	}
	var err error
	f.Reader, err = ipc.NewReader(io.MultiReader(all...), f.limits...)
	f.next = i
	return err
}

func (f *arrowFile) Close() error { return f.file.Close() }

func (f *arrowFile) Fields() (list []field) {
	for j, column := range f.Schema().Fields() {
		one := field{name: column.Name, place: j, single: column.Type.ID() == arrow.FLOAT32}
		var ok bool
		if one.categorical, ok = kind(column.Type); !ok {
			one.strange = "of type " + column.Type.String()
		}
		list = append(list, one)
	}
	return list
}

func (f *arrowFile) Groups() (rows []int) {
	for _, b := range f.batches {
		rows = append(rows, b.rows)
	}
	return rows
}

func (f *arrowFile) Seek(group int) error {
	if group == f.next {
		return nil
	}
	return f.begin(group)
}

func (f *arrowFile) Next([]field, int) (int, error) {
	for f.next < len(f.batches) {
		batch, err := f.Read()
		rows := f.batches[f.next].rows
		if f.next++; err == io.EOF || err == nil && int(batch.NumRows()) != rows {
			return 0, errRows
		}
		if err != nil {
			return 0, err
		}
		if rows > 0 {
			f.batch = batch
			return rows, nil
		}
	}
	return 0, nil
}

func (f *arrowFile) Put(t *table, columns []field, from int) error {
	for j, c := range columns {
		if err := t.put(j, from, f.batch.Column(c.place)); err != nil {
			return fmt.Errorf("column %q: %w", c.name, err)
		}
	}
	return nil
}
