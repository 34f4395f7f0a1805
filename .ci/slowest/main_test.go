package main

import (
	"strings"
	"testing"
)

// The output of what fails is printed, once and whole; of what passes, the package's
// line alone.
func TestRead(t *testing.T) {
	const events = `{"ImportPath":"p/broken","Action":"build-output","Output":"x.go:1:1: syntax error\n"}
{"Action":"start","Package":"p/a"}
{"Action":"run","Package":"p/a","Test":"TestGood"}
{"Action":"output","Package":"p/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"p/a","Test":"TestGood","Output":"    a.go:1: nobody reads this\n"}
{"Action":"output","Package":"p/a","Test":"TestGood","Output":"    a.go:9: waited 40.0s for its turn\n"}
{"Action":"pass","Package":"p/a","Test":"TestGood","Elapsed":42.5}
{"Action":"run","Package":"p/a","Test":"TestGroup"}
{"Action":"run","Package":"p/a","Test":"TestGroup/one"}
{"Action":"output","Package":"p/a","Test":"TestGroup/one","Output":"    a.go:2: broken\n"}
{"Action":"output","Package":"p/a","Test":"TestGroup/one","Output":"--- FAIL: TestGroup/one (7.00s)\n"}
{"Action":"fail","Package":"p/a","Test":"TestGroup/one","Elapsed":7}
{"Action":"fail","Package":"p/a","Test":"TestGroup","Elapsed":7}
{"Action":"output","Package":"p/a","Output":"PASS\n"}
{"Action":"output","Package":"p/a","Output":"FAIL\tp/a\t9.5s\n"}
{"Action":"fail","Package":"p/a","Elapsed":9.5}
{"Action":"run","Package":"p/b","Test":"TestHangs"}
{"Action":"output","Package":"p/b","Test":"TestHangs","Output":"panic: test timed out after 10m0s\n"}
{"Action":"fail","Package":"p/b","Elapsed":600}
no event
`
	const want = `x.go:1:1: syntax error
    a.go:2: broken
--- FAIL: TestGroup/one (7.00s)
FAIL	p/a	9.5s
panic: test timed out after 10m0s
no event

slowest tests:
     7.0s  p/a  TestGroup/one
     2.5s  p/a  TestGood
`
	var out strings.Builder
	if err := read(strings.NewReader(events), &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
