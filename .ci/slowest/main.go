// Command slowest reads the events of `go test -json` from standard input. It prints
// what `go test` prints without -json: a line per package, and the output of the tests
// that fail. At the end it lists the ten slowest tests.
//
//	go test -json ./... | go run ./.ci/slowest
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// count is how many tests are listed.
const count = 10

// event is one line of `go test -json` (go doc test2json, go help buildjson).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// test is a test of a package.
type test struct{ pkg, name string }

// report follows the events.
type report struct {
	out     io.Writer
	output  map[test][]string // of the tests that have not ended
	parent  map[test]bool     // has subtests
	seconds map[test]float64
	waited  map[test]float64
}

// waited is what a test says that waits for its turn, outside of what go test counts as
// waiting (internal/testbed).
var waited = regexp.MustCompile(`: waited ([0-9.]+)s for its turn\n$`)

func main() {
	if err := read(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "slowest:", err)
		os.Exit(1)
	}
}

func read(in io.Reader, out io.Writer) error {
	r := report{out: out, output: map[test][]string{}, parent: map[test]bool{}, seconds: map[test]float64{}, waited: map[test]float64{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.add(line)
		}
		if err == io.EOF {
			r.slowest()
			return nil
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
	}
}

// add prints what a line asks for. A line that is not an event is printed as it is.
func (r *report) add(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		fmt.Fprint(r.out, line)
		return
	}
	t := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		switch {
		case e.Test != "":
			r.output[t] = append(r.output[t], e.Output)
			if found := waited.FindStringSubmatch(e.Output); found != nil {
				seconds, _ := strconv.ParseFloat(found[1], 64) // digits and dots: 0 is as good as any
				r.waited[t] += seconds
			}
		case e.Output != "PASS\n": // as without -v
			fmt.Fprint(r.out, e.Output)
		}
	case "run":
		for name := e.Test; strings.Contains(name, "/"); {
			name = name[:strings.LastIndexByte(name, '/')]
			r.parent[test{e.Package, name}] = true
		}
	case "pass", "skip", "fail":
		if e.Test == "" {
			r.unended(e.Package)
			return
		}
		r.seconds[t] = max(0, e.Elapsed-r.waited[t])
		if e.Action == "fail" {
			r.print(t)
		}
		delete(r.output, t)
	}
}

// print prints the output of a test.
func (r *report) print(t test) {
	for _, text := range r.output[t] {
		if !strings.HasPrefix(text, "=== ") { // RUN, PAUSE and CONT tell nothing here
			fmt.Fprint(r.out, text)
		}
	}
}

// unended prints the output of the tests of a package that have no result: it
// panicked, or ran out of time.
func (r *report) unended(pkg string) {
	var left []test
	for t := range r.output {
		if t.pkg == pkg {
			left = append(left, t)
		}
	}
	slices.SortFunc(left, func(a, b test) int { return strings.Compare(a.name, b.name) })
	for _, t := range left {
		r.print(t)
		delete(r.output, t)
	}
}

// slowest lists the tests that took longest, without those that only hold subtests.
func (r *report) slowest() {
	var tests []test
	for t := range r.seconds {
		if !r.parent[t] {
			tests = append(tests, t)
		}
	}
	if len(tests) == 0 {
		return
	}
	slices.SortFunc(tests, func(a, b test) int {
		if x, y := r.seconds[a], r.seconds[b]; x != y {
			if x > y {
				return -1
			}
			return 1
		}
		return strings.Compare(a.pkg+a.name, b.pkg+b.name)
	})
	fmt.Fprintf(r.out, "\nslowest tests:\n")
	for _, t := range tests[:min(count, len(tests))] {
		fmt.Fprintf(r.out, "%8.1fs  %s  %s\n", r.seconds[t], t.pkg, t.name)
	}
}
