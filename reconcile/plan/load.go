package plan

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
)

// Sources are the sources of manifests.
type Sources struct {
	// Files are the arguments of -f: files, directories, or "-" for Stdin. Of a
	// directory, *.yaml, *.yml and *.json are read.
	Files []string
	// Recursive descends into subdirectories (-R).
	Recursive bool
	// Kustomize are the arguments of -k: directories with a kustomization.
	Kustomize []string
	// Stdin is read for "-". It may be nil if Files has none.
	Stdin io.Reader
}

// maxSource bounds one file. The API server takes 3 MiB per object.
const maxSource = 64 << 20

// Load reads all sources and returns their objects in the order of the sources, files
// of a directory in lexical order. Lists are flattened and empty documents skipped.
//
// The error is a Problems with everything that is wrong: invalid YAML, objects without
// apiVersion, kind or name (generateName is rejected, as by every apply: a plan needs a
// name), duplicate objects, paths that do not exist or contain no object. The objects
// are those that could be read.
func Load(sources Sources) ([]Object, error) {
	l := &loader{sources: sources}
	if len(sources.Files)+len(sources.Kustomize) == 0 {
		return nil, errors.New("no manifests given: name files or directories with -f, or a kustomization with -k")
	}
	for _, path := range sources.Files {
		l.path(path)
	}
	for _, dir := range sources.Kustomize {
		l.kustomize(dir)
	}
	l.duplicates()
	return l.objects, l.problems.err()
}

type loader struct {
	sources   Sources
	objects   []Object
	problems  Problems
	stdinRead bool
}

func (l *loader) fail(at Position, err error) {
	l.problems = append(l.problems, &Problem{At: at, Err: err})
}

// path reads one argument of -f. It must contain at least one object.
func (l *loader) path(path string) {
	objects, problems := len(l.objects), len(l.problems)
	at := Position{File: path}
	switch {
	case path == "":
		l.fail(at, errors.New("an empty path was given for manifests"))
	case path == "-":
		l.stdin()
		at.File = "<stdin>"
	case remote(path) && strings.Contains(path, "://"):
		l.fail(at, errors.New("manifests are not fetched from URLs: download the file first and name it, or pipe it in with -f -"))
	default:
		l.fileOrDirectory(path)
	}
	if len(l.objects) == objects && len(l.problems) == problems {
		l.fail(at, errors.New("no Kubernetes objects found"+l.hintEmpty(path)))
	}
}

func (l *loader) hintEmpty(path string) string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return ""
	}
	if l.sources.Recursive {
		return " in its *.yaml, *.yml and *.json files"
	}
	return " in its *.yaml, *.yml and *.json files (subdirectories are read with -R)"
}

func (l *loader) stdin() {
	at := Position{File: "<stdin>"}
	switch {
	case l.stdinRead:
		l.fail(at, errors.New("standard input was named twice"))
	case l.sources.Stdin == nil:
		l.fail(at, errors.New("standard input is not available"))
	default:
		l.stdinRead = true
		l.read(at.File, l.sources.Stdin)
	}
}

func (l *loader) fileOrDirectory(path string) {
	info, err := os.Stat(path)
	if err != nil {
		l.fail(Position{File: path}, fmt.Errorf("read manifests: %w", bare(err)))
		return
	}
	if !info.IsDir() {
		l.file(path)
		return
	}
	for _, file := range l.manifestsIn(path) {
		l.file(file)
	}
}

// manifestsIn lists the manifests of a directory. Links to files are followed, links to
// directories are not; other types are skipped, so that a pipe or a device in a
// checkout cannot block the program.
func (l *loader) manifestsIn(dir string) []string {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			l.fail(Position{File: path}, fmt.Errorf("read directory: %w", bare(err)))
			return nil
		}
		if entry.IsDir() {
			if path != dir && !l.sources.Recursive {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return nil
		}
		if slices.Contains(konfig.RecognizedKustomizationFileNames(), entry.Name()) {
			l.fail(Position{File: path}, fmt.Errorf("this directory is a kustomization: give it as -k %s", filepath.Dir(path)))
			return nil
		}
		info, err := os.Stat(path)
		if err != nil {
			l.fail(Position{File: path}, fmt.Errorf("read manifests: %w", bare(err)))
			return nil
		}
		if info.Mode().IsRegular() {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		l.fail(Position{File: dir}, fmt.Errorf("read directory: %w", bare(err)))
	}
	return files
}

func (l *loader) file(path string) {
	f, err := os.Open(path)
	if err != nil {
		l.fail(Position{File: path}, fmt.Errorf("read manifests: %w", bare(err)))
		return
	}
	defer f.Close()
	l.read(path, f)
}

func (l *loader) read(name string, r io.Reader) {
	content, err := io.ReadAll(io.LimitReader(r, maxSource+1))
	if err != nil {
		l.fail(Position{File: name}, fmt.Errorf("read manifests: %w", bare(err)))
		return
	}
	if len(content) > maxSource {
		l.fail(Position{File: name}, fmt.Errorf("larger than %d MiB", maxSource>>20))
		return
	}
	objects, problems := parse(name, content)
	l.objects = append(l.objects, objects...)
	l.problems = append(l.problems, problems...)
}

// duplicates reports objects that appear more than once, with both positions.
func (l *loader) duplicates() {
	first := map[identity]Object{}
	for _, o := range l.objects {
		id := identityOf(o.Object)
		if earlier, twice := first[id]; twice {
			l.problems = append(l.problems, &Problem{At: o.Source, Object: o.String(),
				Err: fmt.Errorf("duplicate object, first at %s", earlier.Source)})
			continue
		}
		first[id] = o
	}
}

// bare removes the path from an error that is reported with its position.
func bare(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}
