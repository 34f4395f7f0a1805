package rooms

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A door is a file that may do some of what everybody else may not, each with
// its reason. Without a list it may do all of it.
type door struct {
	only   []string
	reason string
}

var doors = map[string]door{
	"watch/connect/connect.go": {reason: "the one door"},
	"watch/connect/metrics.go": {reason: "the door to the metrics of other processes: it reads one URL, behind the same guard"},
	"reconcile/proxy/proxy.go": {
		only:   []string{"field Transport"},
		reason: "its reverse proxy sends through the transport it is handed, which has the guard around it",
	},
	"internal/recycle/recycle.go": {
		only:   []string{"net/http.Client", "net/http.Transport", "field Transport"},
		reason: "it empties the sandboxes of tests; TestTestHelpersAreForTests keeps it out of the program",
	},
	"cmd/kctl-ctrl/internal/ownerflags/flags.go": {
		only:   []string{"k8s.io/cli-runtime/pkg/resource.NewBuilder", "method ToRESTMapper"},
		reason: "its RESTClientGetter is its own, made of the config of readOnlyConfig: cli-runtime gets no other",
	},
}

// makers are what makes a way to an API server, or takes the guard off one.
var makers = map[string][]string{
	"k8s.io/client-go/rest": {
		"Config", "InClusterConfig", "AnonymousClientConfig", "TLSConfigFor",
	},
	"k8s.io/client-go/transport": {"Config", "New", "TLSConfigFor"},
	"k8s.io/client-go/tools/clientcmd": {
		"BuildConfigFromFlags", "BuildConfigFromKubeconfigGetter", "RESTConfigFromKubeConfig", "NewNonInteractiveDeferredLoadingClientConfig",
		"NewInteractiveDeferredLoadingClientConfig", "NewDefaultClientConfig", "NewNonInteractiveClientConfig", "NewInteractiveClientConfig",
		"NewClientConfigFromBytes",
	},
	"k8s.io/cli-runtime/pkg/resource": {"NewBuilder"},
	"k8s.io/kubectl/pkg/cmd/util":     {"NewFactory", "NewMatchVersionFlags"},
	"net/http":                        {"Client", "DefaultClient", "DefaultTransport", "Transport", "Get", "Post", "PostForm", "Head"},
}

// makerMethods are methods that make one, whatever they are called on: those of
// genericclioptions.ConfigFlags and cmdutil.Factory read the kubeconfig
// themselves and know no guard.
var makerMethods = []string{
	"ToRESTConfig", "ToDiscoveryClient", "ToRESTMapper", "ClientConfig", "WithWrapConfigFn",
	"KubernetesClientSet", "DynamicClient", "ClientForMapping", "UnstructuredClientForMapping", "NewBuilder",
}

// makerFields are fields whose assignment puts a transport in place, or puts one
// around the guard's place.
var makerFields = []string{"WrapTransport", "Transport", "WrapConfigFn", "ClientConfigFn"}

// TestOneDoor finds rest.Config literals, kubeconfig loads and HTTP clients
// outside the door.
func TestOneDoor(t *testing.T) {
	used := map[string]bool{}
	eachFile(t, func(p listed, rel string, f *ast.File, fset *token.FileSet) {
		for _, made := range doorsIn(fset, f) {
			d, allowed := doors[rel]
			used[rel+" "+made.what] = true
			if allowed && (d.only == nil || slices.Contains(d.only, made.what)) {
				continue
			}
			t.Errorf("%s, line %d: %s\n\tclient configs and HTTP clients are made in watch/connect only, where the guard is put around them", rel, made.line, made.what)
		}
	})
	for rel, d := range doors {
		for _, what := range d.only {
			if !used[rel+" "+what] {
				t.Errorf("%s may use %s, and does not any more", rel, what)
			}
		}
	}
}

// eachFile parses the files of the program, also those of other platforms, and
// no tests.
func eachFile(t *testing.T, visit func(p listed, rel string, f *ast.File, fset *token.FileSet)) {
	t.Helper()
	for _, p := range list(t) {
		if !inRoom(p.ImportPath, "") {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			visit(p, strings.TrimPrefix(p.ImportPath, module)+"/"+name, f, fset)
		}
	}
}

// A making is one thing that only doors may do.
type making struct {
	line int
	what string
}

// doorsIn lists them. It reads syntax, not types: a type of one's own that
// embeds http.Client gets past it, and a method of the same name does not.
func doorsIn(fset *token.FileSet, f *ast.File) []making {
	var found []making
	report := func(n ast.Node, what string) { found = append(found, making{fset.Position(n.Pos()).Line, what}) }
	names := map[string]string{}
	for _, spec := range f.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if _, watched := makers[path]; !watched {
			continue
		}
		name := filepath.Base(path)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			report(spec, "dot import of "+path)
		}
		names[name] = path
	}
	// made is the watched thing that an expression names.
	made := func(e ast.Expr) (what string, ok bool) {
		sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
		if !ok {
			return "", false
		}
		pkg, ok := sel.X.(*ast.Ident)
		if !ok || !slices.Contains(makers[names[pkg.Name]], sel.Sel.Name) {
			return "", false
		}
		return names[pkg.Name] + "." + sel.Sel.Name, true
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if what, ok := made(n.Type); ok {
				report(n, what)
			}
			for _, element := range n.Elts {
				if pair, ok := element.(*ast.KeyValueExpr); ok {
					if key, ok := pair.Key.(*ast.Ident); ok && slices.Contains(makerFields, key.Name) {
						report(pair, "field "+key.Name)
					}
				}
			}
		case *ast.CallExpr:
			if what, ok := made(n.Fun); ok {
				report(n, what)
			}
			switch fun := ast.Unparen(n.Fun).(type) {
			case *ast.SelectorExpr:
				// A qualified name is a function of a package, which made knows.
				if pkg, ok := fun.X.(*ast.Ident); ok && names[pkg.Name] != "" {
					break
				}
				if slices.Contains(makerMethods, fun.Sel.Name) {
					report(n, "method "+fun.Sel.Name)
				}
			case *ast.Ident:
				if (fun.Name == "new" || fun.Name == "make") && len(n.Args) > 0 {
					if what, ok := made(n.Args[0]); ok {
						report(n, what)
					}
				}
			}
		case *ast.ValueSpec: // var c http.Client
			if what, ok := made(n.Type); ok {
				report(n, what)
			}
		case *ast.StructType: // struct{ c http.Client }
			for _, field := range n.Fields.List {
				if what, ok := made(field.Type); ok {
					report(field, what)
				}
			}
		case *ast.TypeSpec: // type client http.Client
			if what, ok := made(n.Type); ok {
				report(n, what)
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if sel, ok := ast.Unparen(left).(*ast.SelectorExpr); ok && slices.Contains(makerFields, sel.Sel.Name) {
					report(n, "field "+sel.Sel.Name)
				}
			}
			for _, right := range n.Rhs { // f := http.Get
				if what, ok := made(right); ok {
					report(n, what)
				}
			}
		case *ast.SelectorExpr:
			if n.Sel.Name == "DefaultClient" || n.Sel.Name == "DefaultTransport" {
				if what, ok := made(n); ok {
					report(n, what)
				}
			}
		}
		return true
	})
	return found
}

// The scan itself must see what it looks for, and nothing else.
func TestOneDoorSees(t *testing.T) {
	const imports = `package p
import (
	"net/http"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)
`
	for source, want := range map[string]bool{
		`var c = &http.Client{}`:                                                       true,
		`var c = new(http.Client)`:                                                     true,
		`var c http.Client`:                                                            true,
		`var f = func() { var c http.Client; _ = c }`:                                  true,
		`type t struct { c http.Client }`:                                              true,
		`type t struct { http.Client }`:                                                true,
		`type t http.Client`:                                                           true,
		`var c = http.DefaultClient`:                                                   true,
		`var f = func() { g := http.Get; _ = g }`:                                      true,
		`var f = func() { http.Get("") }`:                                              true,
		`var c = rest.Config{}`:                                                        true,
		`var c = new(rest.Config)`:                                                     true,
		`var f = func(c *rest.Config) { rest.TLSConfigFor(c) }`:                        true,
		`var f = func(c *rest.Config) { c.WrapTransport = nil }`:                       true,
		`var f = func(c *http.Client) { c.Timeout, c.Transport = 0, nil }`:             true,
		`var f = func(l clientcmd.ClientConfig) { l.ClientConfig() }`:                  true,
		`var f = func(g interface{ToRESTConfig()}) { g.ToRESTConfig() }`:               true,
		`var f = func(g interface{ToDiscoveryClient()}) { (g.ToDiscoveryClient)() }`:   true,
		`var f = func(g interface{ToRESTMapper()}) { g.ToRESTMapper() }`:               true,
		`var f = func(g resource.RESTClientGetter) { resource.NewBuilder(g) }`:         true,
		`var f = func(g resource.RESTClientGetter) { cmdutil.NewFactory(g) }`:          true,
		`import . "net/http"`:                                                          true,
		`var f func(*http.Client, *rest.Config) *http.Request`:                         false,
		`type t struct { c *http.Client; config *rest.Config }`:                        false,
		`var f = func(c *rest.Config) { rest.CopyConfig(c) }`:                          false,
		`var f = func(l clientcmd.ClientConfig) { l.RawConfig(); l.Namespace() }`:      false,
		`var f = func(c struct{Get func()}) { c.Get() }`:                               false,
		`func (g getter) ToRESTConfig() (*rest.Config, error) { return g.config, nil}`: false,
	} {
		text := imports + source
		if strings.HasPrefix(source, "import") {
			text = "package p\n" + source
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "p.go", text, 0)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if found := doorsIn(fset, f); (len(found) > 0) != want {
			t.Errorf("%s: found %v", source, found)
		}
	}
}

// TestNoFaultIsLinked: what breaks the protection of writes, so that a test can be
// seen to fail, is for tests. It comes from outside, as a transport or a client: guard,
// approve, election and proxy have no switch for it.
func TestNoFaultIsLinked(t *testing.T) {
	const faults = module + "internal/faults"
	users := 0
	for _, p := range list(t) {
		if p.ImportPath != faults && slices.Contains(p.Deps, faults) {
			t.Errorf("%s depends on %s\n\tonly tests break the protection of writes", p.ImportPath, faults)
		}
		if slices.Contains(p.TestImports, faults) || slices.Contains(p.XTestImports, faults) {
			users++
		}
	}
	if users == 0 {
		t.Errorf("no test imports %s: the scan does not see it", faults)
	}
	eachFile(t, func(p listed, rel string, f *ast.File, fset *token.FileSet) {
		ast.Inspect(f, func(n ast.Node) bool {
			if d, ok := n.(*ast.TypeSpec); ok && strings.EqualFold(d.Name.Name, "broken") {
				t.Errorf("%s, line %d: a type %s\n\tfaults come from outside: see %s", rel, fset.Position(n.Pos()).Line, d.Name.Name, faults)
			}
			return true
		})
	})
}

// granters are the functions that lead to writing for real, and the one place for
// each.
var granters = map[string]struct{ room, reason string }{
	"GrantSandbox":  {"reconcile/engine", "who connects an engine knows the authority that proves a sandbox"},
	"GrantElection": {"reconcile/election", "an election's gate is what keeps writes within a lease"},
	"GrantLease":    {"reconcile/engine/lead", "the guard of the election's own writes is made where the election is"},
	"Confirm":       {"reconcile/engine/lead", "what the user typed is compared in one place, before anything is written"},
}

// TestGrantsAreMadeInOnePlace: active mode is not come by elsewhere.
func TestGrantsAreMadeInOnePlace(t *testing.T) {
	used := map[string]bool{}
	eachFile(t, func(p listed, rel string, f *ast.File, fset *token.FileSet) {
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			place, granter := granters[sel.Sel.Name]
			if !ok || !granter || pkg.Name != "guard" {
				return true
			}
			used[sel.Sel.Name] = true
			if rel == "internal/testbed/seed.go" { // no program imports it: TestTestHelpersAreForTests
				return true
			}
			if rel != place.room && !strings.HasPrefix(rel, place.room+"/") {
				t.Errorf("%s, line %d: guard.%s\n\tonly in %s: %s", rel, fset.Position(n.Pos()).Line, sel.Sel.Name, place.room, place.reason)
			}
			return true
		})
	})
	for name := range granters {
		if !used[name] {
			t.Errorf("guard.%s is used nowhere: the scan does not see it", name)
		}
	}
}
