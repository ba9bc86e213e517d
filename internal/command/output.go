package command

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/atomicfile"
)

// emit writes a result to the file of --out, or to standard output where there is none
// or it is "-".
func (s *session) emit(out string, write func(io.Writer) error) error {
	if out == "" || out == "-" {
		return write(s.stdout)
	}
	return atomicfile.Write(out, write)
}

// checkOut finds out before long work that its result could not be saved, or would take
// the place of one of the inputs.
func (s *session) checkOut(out string, inputs ...string) error {
	if out == "" || out == "-" {
		return nil
	}
	return s.checkFile("--out", out, inputs...)
}

// checkFile is checkOut of the file of a flag.
func (s *session) checkFile(flag, out string, inputs ...string) error {
	if !s.crew.writes() {
		return nil
	}
	target, err := atomicfile.Locate(out)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	if in, ok := s.replaced(target, inputs); ok {
		return misused("%s is the input, %s: name another file", flag, in)
	}
	return target.Try()
}

// replaced finds the input that writing would destroy.
func (s *session) replaced(t atomicfile.Target, inputs []string) (in string, ok bool) {
	for _, in := range inputs {
		paths, err := filesOf(in)
		if err != nil {
			continue // reading will say so
		}
		for _, path := range paths {
			if info := s.stat(path); info != nil && t.Replaces(info) {
				return path, true
			}
		}
	}
	return "", false
}

// stat is the file behind an input, nil where there is none: an embedded data set, or
// one that will not be found.
func (s *session) stat(in string) os.FileInfo {
	if _, embedded := data.Lookup(in); embedded {
		return nil
	}
	var info os.FileInfo
	if in != "-" {
		info, _ = os.Stat(in)
	} else if f, ok := s.stdin.(*os.File); ok {
		info, _ = f.Stat()
	}
	return info
}

// pageName is the file that --report writes.
const pageName = "index.html"

// checkReport finds out before long work that the page could not be written, or would take
// the place of something else.
func (s *session) checkReport(dir, out string, inputs ...string) error {
	switch {
	case dir == "":
		return nil
	case dir == "-":
		return misused("--report is -: name a folder")
	case !s.crew.writes():
		return nil
	}
	exists, err := atomicfile.TryFolder(dir)
	if err != nil {
		return fmt.Errorf("--report %s: %w", dir, err)
	}
	if !exists { // it will be made
		return nil
	}
	page := filepath.Join(dir, pageName)
	target, err := atomicfile.Locate(page)
	if err != nil {
		return fmt.Errorf("--report %s: %w", dir, err)
	}
	if in, ok := s.replaced(target, inputs); ok {
		return misused("--report would replace the input, %s: name another folder", in)
	}
	if out != "" {
		if model, err := atomicfile.Locate(out); err == nil && model.Path == target.Path {
			return misused("--report and --out both are %s: name another file for the model", page)
		}
	}
	return target.Try()
}

// An objectWriter writes JSON piece by piece, and remembers the first error.
type objectWriter struct {
	*bufio.Writer
	within bool // something stands before, in the same object or list
	err    error
}

// field writes a value: under a name in an object, under none in a list.
func (o *objectWriter) field(name string, value any) {
	text, err := encode(value)
	o.err = cmp.Or(o.err, err)
	o.piece(name, string(text))
	o.within = true
}

// open begins an object or a list by its bracket.
func (o *objectWriter) open(name, bracket string) {
	o.piece(name, bracket)
	o.within = false
}

func (o *objectWriter) close(bracket string) {
	o.within = false
	o.piece("", bracket)
	o.within = true
}

func (o *objectWriter) list(name string, n int, item func(i int) any) {
	o.open(name, "[")
	for i := range n {
		o.field("", item(i))
	}
	o.close("]")
}

func (o *objectWriter) piece(name, text string) {
	if name != "" {
		quoted, err := encode(name)
		o.err = cmp.Or(o.err, err)
		text = string(quoted) + ":" + text
	}
	if o.within {
		text = "," + text
	}
	if o.err == nil {
		_, o.err = o.WriteString(text)
	}
}
