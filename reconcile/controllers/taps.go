package controllers

import (
	"context"

	"github.com/go-logr/logr"

	"k8s.io/client-go/informers"
	"k8s.io/controller-manager/pkg/informerfactory"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

// Taps is where this package lets an observer in; *tap.Tap of reconcile/tap is
// one. An error of Informers, ObjectOrMetadata or Attach means that the controller
// cannot be observed: it is off, or runs unobserved where Config.Untapped allows it.
// The methods other than Run are called on the goroutine of Start or
// StartMore, one at a time, before the loop that they are about runs.
type Taps interface {
	// Informers returns a view of f for one controller. Starting the view
	// starts f.
	Informers(controller string, f informers.SharedInformerFactory) (informers.SharedInformerFactory, error)
	// ObjectOrMetadata is the same for the two controllers (garbage collector,
	// resource quota) that have informers for types they do not know.
	ObjectOrMetadata(controller string, f informerfactory.InformerFactory) (informerfactory.InformerFactory, error)
	// Hold is called before a controller is built, and release when Attach was
	// called for its loops, or will not be: meanwhile the handlers that the
	// controller adds get no events.
	Hold(controller string) (release func())
	// Attach is given the pointer to upstream's struct and its queues, between its
	// construction and its Run, for each loop of the controller. After an error the
	// controller works as it did before.
	Attach(controller string, target any, queues ...tap.Spec) error
	// Run calls fn on the same goroutine, marked as the controller's.
	Run(ctx context.Context, controller string, fn func(context.Context))
	// Logger returns the logger that the loops get.
	Logger(base logr.Logger) logr.Logger
}

// noTaps observes nothing.
type noTaps struct{}

func (noTaps) Informers(_ string, f informers.SharedInformerFactory) (informers.SharedInformerFactory, error) {
	return f, nil
}

func (noTaps) ObjectOrMetadata(_ string, f informerfactory.InformerFactory) (informerfactory.InformerFactory, error) {
	return f, nil
}

func (noTaps) Hold(string) func() { return func() {} }

func (noTaps) Attach(string, any, ...tap.Spec) error { return nil }

func (noTaps) Run(ctx context.Context, _ string, fn func(context.Context)) { fn(ctx) }

func (noTaps) Logger(base logr.Logger) logr.Logger { return base }
