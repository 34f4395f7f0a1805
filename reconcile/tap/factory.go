package tap

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/apiserverinternal"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/autoscaling"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/events"
	"k8s.io/client-go/informers/extensions"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/lifecycle"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/informers/storagemigration"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/pkg/informerfactory"
)

// factory is a controller's view of the shared factory: the same informers,
// with handlers that are wrapped when they are added.
//
// The generated accessors (Core, Apps, …) of the original hand out informers
// that go back to the original; so each is built anew here, over this factory.
// They end in InformerFor of the original, with the original's namespace and
// list options in the constructor they pass: one informer per type, whichever
// way it is asked for first.
type factory struct {
	informers.SharedInformerFactory
	tap        *Tap
	controller string
	scope      scope
}

// scope is what a factory confines its informers to.
type scope struct {
	namespace string
	tweak     internalinterfaces.TweakListOptionsFunc
}

// Informers returns f as the named controller is to see it: event handlers
// added through it are wrapped, so that what they do has its cause, and what
// they have seen is known. Any number of controllers may share f. It is an error if
// f is neither of informers.NewSharedInformerFactory… nor of this function:
// the namespace that f is confined to is private to it, and guessing that
// would widen it.
func (t *Tap) Informers(controller string, f informers.SharedInformerFactory) (informers.SharedInformerFactory, error) {
	if own, ok := f.(*factory); ok {
		f = own.SharedInformerFactory
	}
	s, err := scopeOf(f)
	if err != nil {
		return nil, fmt.Errorf("observe informers of %s: %w", controller, err)
	}
	return &factory{SharedInformerFactory: f, tap: t, controller: controller, scope: s}, nil
}

// unexpected is a panic of reflection as an error, where there was one.
func unexpected(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("reflection: %v", p)
	}
}

// scopeOf reads the private fields of a sharedInformerFactory of
// client-go@v0.37.1 informers/factory.go. That of its
// metadata/metadatainformer/informer.go has the same.
func scopeOf(factory any) (_ scope, err error) {
	defer unexpected(&err)
	namespace, err := field(factory, "namespace")
	if err != nil {
		return scope{}, err
	}
	tweak, err := field(factory, "tweakListOptions")
	if err != nil {
		return scope{}, err
	}
	tweaks := reflect.TypeFor[internalinterfaces.TweakListOptionsFunc]()
	if namespace.Kind() != reflect.String || !tweak.Type().ConvertibleTo(tweaks) {
		return scope{}, fmt.Errorf("%T has fields of other types", factory)
	}
	return scope{
		namespace: *at[string](namespace),
		tweak:     exported(tweak).Convert(tweaks).Interface().(internalinterfaces.TweakListOptionsFunc),
	}, nil
}

// InformerFor is informers.SharedInformerFactory's.
func (f *factory) InformerFor(obj runtime.Object, newFunc internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	real := f.SharedInformerFactory.InformerFor(obj, newFunc)
	return f.tap.wrap(f.controller, real, resourceOf(obj), f.scope)
}

// ForResource is informers.SharedInformerFactory's.
func (f *factory) ForResource(r schema.GroupVersionResource) (informers.GenericInformer, error) {
	real, err := f.SharedInformerFactory.ForResource(r)
	if err != nil {
		return nil, err
	}
	return generic{real, f.tap.wrap(f.controller, real.Informer(), r, f.scope)}, nil
}

// resourceOf returns the resource of a typed object, as upstream's own
// client-side code derives it: from the name of its kind. It is right for all
// types of client-go.
func resourceOf(obj runtime.Object) schema.GroupVersionResource {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil || len(kinds) == 0 {
		return schema.GroupVersionResource{Resource: fmt.Sprintf("%T", obj)}
	}
	plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return plural
}

// generic is a GenericInformer with a wrapped informer.
type generic struct {
	informers.GenericInformer
	informer cache.SharedIndexInformer
}

func (g generic) Informer() cache.SharedIndexInformer { return g.informer }

// ObjectOrMetadata returns f as the named controller is to see it; see
// Informers. The garbage collector and the quota controller get their
// informers from such a factory, for custom resources with metadata only. It
// is an error if f is neither of informerfactory.NewInformerFactory nor of this
// function.
func (t *Tap) ObjectOrMetadata(controller string, f informerfactory.InformerFactory) (informerfactory.InformerFactory, error) {
	if own, ok := f.(*objectOrMetadata); ok {
		f = own.InformerFactory
	}
	view := &objectOrMetadata{InformerFactory: f, tap: t, controller: controller}
	if err := view.readScopes(); err != nil {
		return nil, fmt.Errorf("observe informers of %s: %w", controller, err)
	}
	return view, nil
}

type objectOrMetadata struct {
	informerfactory.InformerFactory
	tap        *Tap
	controller string

	// The original asks typed first, whose informers have scope object; those
	// with metadata only have scope partial.
	typed           informers.SharedInformerFactory
	object, partial scope
}

// readScopes reads the private fields of an informerFactory of
// controller-manager@v0.37.1 pkg/informerfactory.
func (f *objectOrMetadata) readScopes() (err error) {
	defer unexpected(&err)
	typed, err := field(f.InformerFactory, "typedInformerFactory")
	if err != nil {
		return err
	}
	metadata, err := field(f.InformerFactory, "metadataInformerFactory")
	if err != nil {
		return err
	}
	var ok bool
	if f.typed, ok = exported(typed).Interface().(informers.SharedInformerFactory); !ok {
		return fmt.Errorf("%T has fields of other types", f.InformerFactory)
	}
	if own, ok := f.typed.(*factory); ok {
		f.object = own.scope
	} else if f.object, err = scopeOf(f.typed); err != nil {
		return err
	}
	f.partial, err = scopeOf(exported(metadata).Interface())
	return err
}

// ForResource is informerfactory.InformerFactory's.
func (f *objectOrMetadata) ForResource(r schema.GroupVersionResource) (informers.GenericInformer, error) {
	real, err := f.InformerFactory.ForResource(r)
	if err != nil {
		return nil, err
	}
	s := f.object
	if _, err := f.typed.ForResource(r); err != nil {
		s = f.partial
	}
	return generic{real, f.tap.wrap(f.controller, real.Informer(), r, s)}, nil
}

// Admissionregistration is informers.SharedInformerFactory's.
func (f *factory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f, f.scope.namespace, f.scope.tweak)
}

// Internal is informers.SharedInformerFactory's.
func (f *factory) Internal() apiserverinternal.Interface {
	return apiserverinternal.New(f, f.scope.namespace, f.scope.tweak)
}

// Apps is informers.SharedInformerFactory's.
func (f *factory) Apps() apps.Interface {
	return apps.New(f, f.scope.namespace, f.scope.tweak)
}

// Autoscaling is informers.SharedInformerFactory's.
func (f *factory) Autoscaling() autoscaling.Interface {
	return autoscaling.New(f, f.scope.namespace, f.scope.tweak)
}

// Batch is informers.SharedInformerFactory's.
func (f *factory) Batch() batch.Interface {
	return batch.New(f, f.scope.namespace, f.scope.tweak)
}

// Certificates is informers.SharedInformerFactory's.
func (f *factory) Certificates() certificates.Interface {
	return certificates.New(f, f.scope.namespace, f.scope.tweak)
}

// Coordination is informers.SharedInformerFactory's.
func (f *factory) Coordination() coordination.Interface {
	return coordination.New(f, f.scope.namespace, f.scope.tweak)
}

// Core is informers.SharedInformerFactory's.
func (f *factory) Core() core.Interface {
	return core.New(f, f.scope.namespace, f.scope.tweak)
}

// Discovery is informers.SharedInformerFactory's.
func (f *factory) Discovery() discovery.Interface {
	return discovery.New(f, f.scope.namespace, f.scope.tweak)
}

// Events is informers.SharedInformerFactory's.
func (f *factory) Events() events.Interface {
	return events.New(f, f.scope.namespace, f.scope.tweak)
}

// Extensions is informers.SharedInformerFactory's.
func (f *factory) Extensions() extensions.Interface {
	return extensions.New(f, f.scope.namespace, f.scope.tweak)
}

// Flowcontrol is informers.SharedInformerFactory's.
func (f *factory) Flowcontrol() flowcontrol.Interface {
	return flowcontrol.New(f, f.scope.namespace, f.scope.tweak)
}

// Lifecycle is informers.SharedInformerFactory's.
func (f *factory) Lifecycle() lifecycle.Interface {
	return lifecycle.New(f, f.scope.namespace, f.scope.tweak)
}

// Networking is informers.SharedInformerFactory's.
func (f *factory) Networking() networking.Interface {
	return networking.New(f, f.scope.namespace, f.scope.tweak)
}

// Node is informers.SharedInformerFactory's.
func (f *factory) Node() node.Interface {
	return node.New(f, f.scope.namespace, f.scope.tweak)
}

// Policy is informers.SharedInformerFactory's.
func (f *factory) Policy() policy.Interface {
	return policy.New(f, f.scope.namespace, f.scope.tweak)
}

// Rbac is informers.SharedInformerFactory's.
func (f *factory) Rbac() rbac.Interface {
	return rbac.New(f, f.scope.namespace, f.scope.tweak)
}

// Resource is informers.SharedInformerFactory's.
func (f *factory) Resource() resource.Interface {
	return resource.New(f, f.scope.namespace, f.scope.tweak)
}

// Scheduling is informers.SharedInformerFactory's.
func (f *factory) Scheduling() scheduling.Interface {
	return scheduling.New(f, f.scope.namespace, f.scope.tweak)
}

// Storage is informers.SharedInformerFactory's.
func (f *factory) Storage() storage.Interface {
	return storage.New(f, f.scope.namespace, f.scope.tweak)
}

// Storagemigration is informers.SharedInformerFactory's.
func (f *factory) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f, f.scope.namespace, f.scope.tweak)
}
