package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/atomicfile"
	"github.com/latent-go/latent/internal/lockfile"
	"github.com/latent-go/latent/internal/progress"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/report"
	"github.com/latent-go/latent/report/html"
	"github.com/latent-go/latent/report/text"
)

// emit writes a result to the file of --out, or to standard output where there is none
// or it is "-".
func (s *session) emit(out string, write func(io.Writer) error) error {
	if out == "" || out == "-" {
		return write(s.stdout)
	}
	return atomicfile.Write(out, write)
}

// page is an empty page of standard output.
func (s *session) page() *text.Page { return text.NewPage(s.stdout) }

// show writes a page.
func (s *session) show(p *text.Page) error {
	_, err := s.stdout.Write(p.Bytes())
	return err
}

// A finding is what fits came to.
type finding interface {
	Print(p *text.Page, in *tables.Input)
	Document(in *tables.Input) (*report.Document, error)
}

// deliver writes a finding: its page into the folder of --report, and an object or text to standard output.
func (s *session) deliver(found finding, in *tables.Input, dir, format string) error {
	if dir != "" {
		page, err := found.Document(in)
		if err != nil {
			return err
		}
		if err := writePage(dir, page); err != nil {
			return err
		}
	}
	if format == "json" {
		return writeJSON(s.stdout, found)
	}
	p := s.page()
	found.Print(p, in)
	return s.show(p)
}

// line is one about work that begins now.
func (s *session) line() *progress.Line {
	switch {
	case s.log != nil:
		return progress.InLog(s.log)
	case s.quiet:
		return progress.On(io.Discard)
	}
	return progress.On(s.stderr)
}

// A written file is one that a command is to write.
type written struct {
	flag, path string
	page       bool // the folder of one, which is made where it is missing
	stdout     bool // - is standard output
	read       bool // it is read, too
}

// checkWritten finds out before long work that a file could not be written, would take the place of one of the inputs,
// or is another one that the command writes.
func (s *session) checkWritten(inputs []string, files ...written) error {
	for i, f := range files {
		what, taken := "file", ", but standard output has the report"
		if f.page {
			what = "folder"
		}
		if f.page || f.read {
			taken = ""
		}
		switch {
		case f.path == "" || f.path == "-" && f.stdout:
			continue
		case f.path == "-":
			return misused("%s is -%s: name a %s", f.flag, taken, what)
		case !s.crew.Writes():
			continue
		}
		if f.page {
			exists, err := atomicfile.TryFolder(f.path)
			if err != nil {
				return fmt.Errorf("%s %s: %w", f.flag, f.path, err)
			}
			if !exists {
				if err := s.claim(f.flag, f.paths()[0]); err != nil {
					return err
				}
				continue
			}
		}
		path := f.paths()[0]
		target, err := atomicfile.Locate(path)
		if err != nil {
			return fmt.Errorf("%s: %w", f.flag, err)
		}
		if in, ok := s.replaced(target, inputs); ok {
			return misused("%s is the input, %s: name another %s", f.flag, in, what)
		}
		for _, other := range files[:i] {
			if slices.ContainsFunc(other.paths(), func(one string) bool { return samePath(one, target) }) {
				return misused("%s and %s both name %s: name two files", other.flag, f.flag, path)
			}
		}
		info := s.stat(path)
		direct := info != nil && !info.Mode().IsRegular()
		if direct && f.read { // it may never end
			return misused("%s is %s, which is not a regular file: name another file", f.flag, path)
		}
		if err := target.Try(); err != nil {
			return err
		}
		if direct {
			continue
		}
		if err := s.claim(f.flag, target.Path); err != nil {
			return err
		}
	}
	return nil
}

// claim keeps other commands from writing a file until this one ends.
func (s *session) claim(flag, path string) error {
	if s.claims[path] != nil {
		return nil
	}
	release, err := lockfile.Claim(path)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	if s.claims == nil {
		s.claims = map[string]func(){}
	}
	s.claims[path] = release
	return nil
}

// release gives all files back.
func (s *session) release() {
	for _, release := range s.claims {
		release()
	}
}

// paths are what a file takes: of a page itself and its folder.
func (f written) paths() []string {
	if f.page && f.path != "" {
		return []string{filepath.Join(f.path, pageName), f.path}
	}
	return []string{f.path}
}

// replaced finds the input that writing would destroy.
func (s *session) replaced(t atomicfile.Target, inputs []string) (in string, ok bool) {
	for _, in := range inputs {
		paths, err := tables.FilesOf(in)
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
	} else if f, ok := s.Stdin.(*os.File); ok {
		info, _ = f.Stat()
	}
	return info
}

// pageName is the file that --report writes.
const pageName = "index.html"

// writePage writes a page into a folder, which is made where it is missing: all of it, or nothing.
func writePage(dir string, page *report.Document) error {
	return atomicfile.WriteIn(dir, pageName, func(w io.Writer) error { return html.Write(w, page) })
}
