package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

// kube-apiserver caches what admission depends on: policies are compiled once a second,
// parameter types of policies are looked up in a discovery cache that is reset every 30
// s, quotas, limit ranges and classes come from informers. A plan must know when what
// it has applied is in force, and should not wait for seconds.
const (
	// policyRefresh replaces a second: policyRefreshInterval in
	// k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go @v0.37.1. A
	// refresh without a changed policy costs a comparison.
	policyRefresh = 20 * time.Millisecond
	// mapperReset replaces 30 s: AdmissionOptions.ApplyTo in
	// k8s.io/apiserver/pkg/server/options/admission.go @v0.37.1. Nothing is fetched
	// until the next policy with a paramKind needs it.
	mapperReset = 100 * time.Millisecond
)

// admissionHook is upstream's post-start hook that resets the RESTMapper of
// admission, and then every 30 s.
const admissionHook = "start-apiserver-admission-initializer"

// hastenAdmission shortens the refresh intervals of admission plugins. It is called
// before the server is created.
func hastenAdmission(config *app.Config) error {
	generic.SetPolicyRefreshIntervalForTests(policyRefresh)
	hooks := config.KubeAPIs.ControlPlane.Generic.PostStartHooks
	hook, err := hookOf(hooks, admissionHook)
	if err != nil {
		return err
	}
	return config.KubeAPIs.ControlPlane.Generic.AddPostStartHook("kctl-ctrl-reset-admission-restmapper",
		func(started genericapiserver.PostStartHookContext) error {
			// Called with a canceled context, upstream's hook resets once.
			once := started
			var end context.CancelFunc
			once.Context, end = context.WithCancel(started)
			end()
			go wait.Until(func() { _ = hook(once) }, mapperReset, started.Done())
			return nil
		})
}

// hookOf reads a registered hook that has not run yet. Its field is not exported by
// upstream's package.
func hookOf(hooks map[string]genericapiserver.PostStartHookConfigEntry, name string) (genericapiserver.PostStartHookFunc, error) {
	entry, ok := hooks[name]
	if !ok {
		return nil, fmt.Errorf("kube-apiserver has no post-start hook %q", name)
	}
	field := reflect.ValueOf(&entry).Elem().FieldByName("hook")
	if !field.IsValid() || field.Type() != reflect.TypeFor[genericapiserver.PostStartHookFunc]() {
		return nil, errors.New("unexpected layout of kube-apiserver's post-start hooks")
	}
	return *(*genericapiserver.PostStartHookFunc)(unsafe.Pointer(field.UnsafeAddr())), nil
}

// followed are the types that built-in admission plugins read from the shared
// informers.
var followed = map[schema.GroupVersionResource]bool{
	{Version: "v1", Resource: "limitranges"}:                                 true,
	{Version: "v1", Resource: "resourcequotas"}:                              true,
	{Version: "v1", Resource: "namespaces"}:                                  true,
	{Version: "v1", Resource: "serviceaccounts"}:                             true,
	{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}: true,
	{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}:     true,
	{Group: "networking.k8s.io", Version: "v1", Resource: "ingressclasses"}:  true,
	{Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"}:        true,
}

// admissionCaches reports whether the informers of admission plugins have reached an
// object's resourceVersion:
//
//	GET /readyz/admission-cache?group=&version=v1&resource=limitranges&namespace=shop&name=limits&resourceVersion=123
//	{"behind": false}
//
// For types that no plugin reads, behind is always false. Like /metrics, it is a path
// of the API server, with its authentication and authorization.
func admissionCaches(factory informers.SharedInformerFactory) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		wanted, err := strconv.ParseUint(q.Get("resourceVersion"), 10, 64)
		if err != nil {
			http.Error(w, "resourceVersion is not a number", http.StatusBadRequest)
			return
		}
		gvr := schema.GroupVersionResource{Group: q.Get("group"), Version: q.Get("version"), Resource: q.Get("resource")}
		key := q.Get("name")
		if ns := q.Get("namespace"); ns != "" {
			key = ns + "/" + key
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(wire.AdmissionCache{Behind: behind(factory, gvr, key, wanted)})
	})
}

func behind(factory informers.SharedInformerFactory, gvr schema.GroupVersionResource, key string, wanted uint64) bool {
	if !followed[gvr] {
		return false
	}
	informer, err := factory.ForResource(gvr)
	if err != nil || !informer.Informer().HasSynced() {
		return false // nothing reads it: the server is ready, what is read has been listed
	}
	object, found, err := informer.Informer().GetStore().GetByKey(key)
	if err != nil || !found {
		return true
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return false
	}
	version, err := strconv.ParseUint(accessor.GetResourceVersion(), 10, 64)
	return err == nil && version < wanted
}
