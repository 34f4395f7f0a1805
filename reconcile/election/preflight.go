package election

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
)

// The Lease of kube-controller-manager, unless its flags say otherwise.
const (
	DefaultNamespace = "kube-system"
	DefaultName      = "kube-controller-manager"
)

// minors are those of the API servers that the loops of this program may write
// to: a controller manager is as old as its API server or one minor older
// (Kubernetes' version skew policy).
var minors = [...]string{"37", "38"}

// A Refusal says in one line why this program does not become active, with the
// next step.
type Refusal struct{ text string }

func (r *Refusal) Error() string { return r.text }

func refusal(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// CheckServer refuses API servers of other versions than the loops' and the next.
func CheckServer(v *version.Info) error {
	minor := strings.TrimRight(v.Minor, "+")
	for _, m := range minors {
		if v.Major == "1" && minor == m {
			return nil
		}
	}
	return refusal("the API server is %s.%s, and the loops in this binary (1.%s) may write to 1.%s and 1.%s only: use a release of kctl-ctrl for that version, or a dry run",
		v.Major, v.Minor, minors[0], minors[0], minors[1])
}

// Held is what a Lease says of its holder; the zero Held is of a lease that nobody
// holds.
type Held struct {
	Holder           string
	Since, RenewTime time.Time
}

// CheckLease reads the Lease, and refuses where it does not tell whether another
// controller manager works here: it cannot be read, or it is missing on a cluster
// that one has worked on, as on managed control planes. One that holds no lease, or
// another, is not seen beside a lease that has expired: what it has written last says
// nothing of a quiet cluster (docs/active.md).
func CheckLease(ctx context.Context, client kubernetes.Interface, namespace, name string) (Held, error) {
	if namespace != DefaultNamespace || name != DefaultName {
		if err := checkDefault(ctx, client); err != nil {
			return Held{}, err
		}
	}
	lease, err := client.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return heldBy(lease.Spec), nil
	case apierrors.IsForbidden(err):
		return Held{}, unreadable(namespace, name)
	case !apierrors.IsNotFound(err):
		return Held{}, fmt.Errorf("read the lease %s/%s: %w", namespace, name, err)
	}
	// Nobody has held it, or it is kept elsewhere. The publisher of the root
	// certificates is a loop of every kube-controller-manager.
	const published = "kube-root-ca.crt"
	_, err = client.CoreV1().ConfigMaps(DefaultNamespace).Get(ctx, published, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Held{}, nil
	case apierrors.IsForbidden(err):
		return Held{}, refusal("there is no lease %s/%s, and you may not read the ConfigMap %s/%s, which tells whether a controller manager works here all the same: ask for that right, or use a dry run",
			namespace, name, DefaultNamespace, published)
	case err != nil:
		return Held{}, fmt.Errorf("read the ConfigMap %s/%s: %w", DefaultNamespace, published, err)
	}
	return Held{}, refusal("there is no lease %s/%s, yet a controller manager works here or has (it left the ConfigMap %s/%s): this control plane hides its lease, or uses another, which --leader-elect-resource-name can name: use a dry run, or a sandbox",
		namespace, name, DefaultNamespace, published)
}

func heldBy(spec coordinationv1.LeaseSpec) Held {
	var h Held
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" {
		return h
	}
	h.Holder = *spec.HolderIdentity
	if spec.AcquireTime != nil {
		h.Since = spec.AcquireTime.Time
	}
	if spec.RenewTime != nil {
		h.RenewTime = spec.RenewTime.Time
	}
	return h
}

func unreadable(namespace, name string) error {
	return refusal("you may not read the lease %s/%s, and without it nothing tells whether another controller manager works here: ask for the right to get it, or use a dry run", namespace, name)
}

// checkDefault keeps --leader-elect-resource-name from leading past the
// controller manager that holds the usual lease.
func checkDefault(ctx context.Context, client kubernetes.Interface) error {
	lease, err := client.CoordinationV1().Leases(DefaultNamespace).Get(ctx, DefaultName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		return unreadable(DefaultNamespace, DefaultName)
	case err != nil:
		return fmt.Errorf("read the lease %s/%s: %w", DefaultNamespace, DefaultName, err)
	}
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" {
		return nil
	}
	// One that has not been renewed for this long, by clocks that may differ, is
	// a thing of the past.
	const past = time.Hour
	if spec.RenewTime != nil && time.Since(spec.RenewTime.Time) > past {
		return nil
	}
	return refusal("%s holds the lease %s/%s, the one of kube-controller-manager: leave --leader-elect-resource-name and -namespace out to stand by for it", *spec.HolderIdentity, DefaultNamespace, DefaultName)
}
