// Package ownerflags chooses the objects of 'tree', 'cascade' and 'why' as kubectl does, by
// type and name, label, or file, and opens the cluster in which their owners are read. A
// Cluster is cli-runtime's RESTClientGetter over the one guarded config.
package ownerflags

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/complete"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
)

// Flags choose objects and say how their owners are read: what `tree` and
// `cascade` share.
type Flags struct {
	Cluster *genericclioptions.ConfigFlags
	Set     *pflag.FlagSet

	Args  []string
	files resource.FilenameOptions
	// kustomize is a directory, and kustomized what check built of it. It is not
	// in files: cli-runtime would fetch what a kustomization refers to.
	kustomize     string
	kustomized    []plan.Object
	selector      string
	all           bool
	allNamespaces bool

	Groups      []string
	Concurrency int
	MaxRequests int
	PageSize    int64
	cached      bool
	// Within bounds each request; zero is the user's --request-timeout alone.
	Within time.Duration
}

// AddTo registers the flags.
func (o *Flags) AddTo(flags *pflag.FlagSet) {
	o.Set = flags
	flags.StringSliceVarP(&o.files.Filenames, "filename", "f", nil, "the objects in these files or directories, or - for standard input")
	flags.StringVarP(&o.kustomize, "kustomize", "k", "", "the objects of this kustomization")
	flags.BoolVarP(&o.files.Recursive, "recursive", "R", false, "descend into the directories given with -f")
	flags.StringVarP(&o.selector, "selector", "l", "", "the objects of TYPE with these labels")
	flags.BoolVar(&o.all, "all", false, "all objects of TYPE in the namespace")
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "look in all namespaces, also where a dependent cannot validly be")
	flags.IntVar(&o.Concurrency, "concurrency", 12, "requests in flight at a time")
	flags.IntVar(&o.MaxRequests, "max-requests", 5000, "stop reading after this many requests and say what is missing; 0 is no limit")
	flags.Int64Var(&o.PageSize, "chunk-size", 500, "objects in one answer of the server")
	flags.BoolVar(&o.cached, "cached", false, "take lists from the server's watch cache, whatever their age: the cheapest for the server")
	cliflags.AddCluster(o.Cluster, flags)
}

// Check refuses what cannot be meant, before anything is asked.
func (o *Flags) Check() error {
	if err := cliflags.RefuseNoEffect(o.Set, cliflags.NoEffect{In: len(o.files.Filenames) == 0, Flags: []string{"recursive"}, Why: "without -f: name a directory with it"}); err != nil {
		return err
	}
	files := len(o.files.Filenames) > 0 || o.kustomize != ""
	for _, name := range append(o.files.Filenames, o.kustomize) {
		if strings.Contains(name, "://") {
			// cli-runtime would fetch it with a client of its own.
			return fmt.Errorf("%s: files only: download it first, or pipe it to -f -", name)
		}
	}
	switch {
	case files && len(o.Args) > 0:
		return errors.New("name objects or give files with -f or -k, not both")
	case files && (o.all || o.selector != ""):
		return errors.New("-l and --all go with a TYPE, not with files")
	case len(o.files.Filenames) > 0 && o.kustomize != "":
		return errors.New("-f and -k exclude each other")
	case o.kustomize != "":
		var err error
		o.kustomized, err = plan.Load(plan.Sources{Kustomize: []string{o.kustomize}})
		return err
	case files:
		return nil
	case len(o.Args) == 0:
		return errors.New("name an object as TYPE/NAME; or a TYPE with -l SELECTOR or --all; or files with -f")
	case o.all && o.selector != "":
		return errors.New("--all and -l exclude each other")
	case (o.all || o.selector != "") && (len(o.Args) > 1 || strings.Contains(o.Args[0], "/")):
		return errors.New("with -l or --all, give types only: TYPE[,TYPE]")
	case !o.all && o.selector == "" && len(o.Args) == 1 && !strings.Contains(o.Args[0], "/"):
		return fmt.Errorf("which %s? name it, as %s/NAME, or add -l SELECTOR or --all", o.Args[0], o.Args[0])
	}
	return nil
}

// Cluster is a cluster whose owners are read.
type Cluster struct {
	cliflags.Cluster
	*owners.Reader
	Config    *rest.Config
	namespace string
}

// Open makes the reader for one context. It asks the cluster nothing.
func (o *Flags) Open(in cliflags.Cluster, progress func(string)) (*Cluster, error) {
	config, err := cliflags.ReadOnlyConfig(in.Flags)
	if err != nil {
		return nil, err
	}
	if config.Timeout == 0 {
		config.Timeout = o.Within
	}
	c := &Cluster{Cluster: in, Config: config}
	if c.namespace, err = cliflags.NamespaceOf(in.Flags); err != nil {
		return nil, err
	}
	groups := o.Groups
	if len(groups) == 0 {
		groups = nil
	}
	c.Reader, err = owners.NewReader(config, owners.Options{
		Concurrency: o.Concurrency, MaxRequests: o.MaxRequests, PageSize: o.PageSize, Cached: o.cached, Groups: groups, Progress: progress,
	})
	return c, err
}

// Targets reads the metadata of the objects chosen, each once.
func (o *Flags) Targets(ctx context.Context, c *Cluster) ([]*owners.Object, error) {
	kinds, err := c.Kinds(ctx)
	if err != nil {
		return nil, explain.Error(err, "ask the server what it serves"+c.Suffix())
	}
	if o.all || o.selector != "" {
		return o.selected(ctx, c, kinds)
	}
	infos, err := o.infos(c)
	if err != nil {
		return nil, explain.Error(err, "find "+o.Asked()+c.Suffix())
	}
	var found []*owners.Object
	seen := map[string]bool{}
	for _, info := range infos {
		t, served := kinds.Resource(info.Mapping.Resource.Group, info.Mapping.Resource.Resource)
		if !served {
			return nil, fmt.Errorf("%s: the server has no objects of this type", info.Mapping.Resource.GroupResource())
		}
		namespace := info.Namespace
		if !t.Namespaced {
			namespace = ""
		}
		object, err := c.Get(ctx, t, namespace, info.Name)
		if err != nil {
			where := ""
			if t.Namespaced {
				where = " " + explain.Scope(namespace)
			}
			return nil, explain.Error(err, "get "+t.String()+" "+info.Name+where+c.Suffix())
		}
		if !seen[object.UID] {
			seen[object.UID] = true
			found = append(found, object)
		}
	}
	return found, nil
}

// infos finds the types of the objects named or read from files.
func (o *Flags) infos(c *Cluster) ([]*resource.Info, error) {
	builder := resource.NewBuilder(c).Unstructured().RequireObject(false).
		NamespaceParam(c.namespace).DefaultNamespace().
		FilenameParam(false, &o.files).
		ResourceTypeOrNameArgs(true, o.Args...)
	if o.kustomized != nil {
		var stream bytes.Buffer
		for _, object := range o.kustomized {
			if err := json.NewEncoder(&stream).Encode(object.Object); err != nil {
				return nil, err
			}
		}
		builder = builder.Stream(&stream, o.kustomize)
	}
	return builder.Flatten().Do().Infos()
}

// Asked is what the user chose objects by.
func (o *Flags) Asked() string {
	words := slices.Concat(o.Args, o.files.Filenames)
	if o.kustomize != "" {
		words = append(words, o.kustomize)
	}
	return strings.Join(words, " ")
}

func (o *Flags) selected(ctx context.Context, c *Cluster, kinds *owners.Kinds) ([]*owners.Object, error) {
	mapper, err := c.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	var found []*owners.Object
	for name := range strings.SplitSeq(o.Args[0], ",") {
		gvr, err := complete.ResourceNamed(mapper, name)
		if err != nil {
			return nil, explain.Error(err, "find type "+name+c.Suffix())
		}
		t, served := kinds.Resource(gvr.Group, gvr.Resource)
		if !served {
			return nil, fmt.Errorf("%s: the server has no objects of this type", name)
		}
		namespace, where := c.namespace, ""
		if o.allNamespaces || !t.Namespaced {
			namespace = ""
		}
		if t.Namespaced {
			where = " " + explain.Scope(namespace)
		}
		objects, err := c.Select(ctx, t, namespace, o.selector)
		if err != nil {
			return nil, explain.Error(err, "list "+t.String()+where+c.Suffix())
		}
		found = append(found, objects...)
	}
	return found, nil
}

// Scope is where to look for what the objects own.
func (o *Flags) Scope(c *Cluster, roots []*owners.Object) owners.Scope {
	s := owners.ScopeOf(roots...)
	if o.allNamespaces {
		s.Everywhere = true
	}
	if s.Everywhere && len(s.Namespaces) == 0 {
		s.Namespaces = []string{c.namespace}
	}
	return s
}

// An Cluster is cli-runtime's RESTClientGetter, so that types and names are
// understood as kubectl understands them, over the one guarded config.

// ToRESTConfig implements genericclioptions.RESTClientGetter.
func (c *Cluster) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(c.Config), nil }

// ToDiscoveryClient implements genericclioptions.RESTClientGetter.
func (c *Cluster) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return c.Discovery(), nil
}

// ToRESTMapper implements genericclioptions.RESTClientGetter.
func (c *Cluster) ToRESTMapper() (meta.RESTMapper, error) {
	groups, err := restmapper.GetAPIGroupResources(c.Discovery())
	if err != nil {
		return nil, err
	}
	return restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), c.Discovery(), nil), nil
}

// ToRawKubeConfigLoader implements genericclioptions.RESTClientGetter.
func (c *Cluster) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return c.Flags.ToRawKubeConfigLoader()
}

// ContextName is the kubeconfig's name of the cluster, for documents.
func (c *Cluster) ContextName() string {
	if c.Name != "" {
		return c.Name
	}
	if given := cliflags.ValueOf(c.Flags.Context); given != "" {
		return given
	}
	raw, err := c.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	return raw.CurrentContext
}

// Complete completes objects, the types that own most first.
func Complete() complete.Func {
	return complete.Objects{Usual: complete.TypesThatOwn(), Several: true}.Complete
}
