package election

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
)

// A Component is a process of the control plane that this program can replace. The zero
// Component is none.
type Component struct {
	// Namespace and Name identify its Lease, unless its flags change them.
	Namespace, Name string
	// what describes it in messages: "controller manager".
	what string
	// trace finds evidence that it is or was active on a cluster without the Lease;
	// empty if there is none.
	trace func(context.Context, kubernetes.Interface) (string, error)
}

// ControllerManager is kube-controller-manager.
func ControllerManager() Component {
	return Component{Namespace: namespace, Name: "kube-controller-manager", what: "controller manager", trace: publishedRoots}
}

// Scheduler is kube-scheduler.
func Scheduler() Component {
	return Component{Namespace: namespace, Name: "kube-scheduler", what: "scheduler", trace: boundPod}
}

// namespace is where the components' leases are.
const namespace = metav1.NamespaceSystem

// minors are the API server versions that the controllers of this program may write to:
// a controller manager has the version of its API server or one minor version less
// (Kubernetes' version skew policy).
var minors = [...]string{"37", "38"}

// A Refusal is the reason why this program does not become active, with the next step,
// on one line.
type Refusal struct{ text string }

func (r *Refusal) Error() string { return r.text }

func refusal(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// CheckServer rejects API servers of versions other than the controllers' and the next.
func CheckServer(v *version.Info) error {
	minor := strings.TrimRight(v.Minor, "+")
	for _, m := range minors {
		if v.Major == "1" && minor == m {
			return nil
		}
	}
	return refusal("unsupported API server version %s.%s: the controllers in this binary (1.%s) support 1.%s and 1.%s: use a release of kctl-ctrl for that version, or a dry run",
		v.Major, v.Minor, minors[0], minors[0], minors[1])
}

// Held is the holder of a Lease; the zero Held means that it has none.
type Held struct {
	Holder           string
	Since, RenewTime time.Time
}

// CheckLease reads the Lease, and refuses if it does not show whether another instance
// of the component is active: it cannot be read, or it is missing on a cluster where
// one has been active, as on managed control planes. An instance that uses no lease, or
// another one, cannot be detected if this lease exists but has expired: the age of its
// last writes is no evidence on a quiet cluster (docs/active.md).
func (c Component) CheckLease(ctx context.Context, client kubernetes.Interface, namespace, name string) (Held, error) {
	if err := c.checkOwner(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}); err != nil {
		return Held{}, err // before it exists: leader election would create it
	}
	if namespace != c.Namespace || name != c.Name {
		switch taken, err := c.inUse(ctx, client.CoordinationV1()); {
		case err != nil:
			return Held{}, err
		case taken != "":
			return Held{}, besideRefused(taken)
		}
	}
	lease, err := client.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return heldBy(lease.Spec), c.checkOwner(lease)
	case apierrors.IsForbidden(err):
		return Held{}, c.unreadable(namespace, name)
	case !apierrors.IsNotFound(err):
		return Held{}, fmt.Errorf("read the lease %s/%s: %w", namespace, name, err)
	}
	// It was never held, or the component uses another lease.
	trace, err := c.trace(ctx, client)
	var hidden *hiddenError
	switch {
	case errors.As(err, &hidden):
		return Held{}, refusal("lease %s/%s not found, and no permission to %s, which would show whether a %s is active anyway: request that permission, or use a dry run",
			namespace, name, hidden.right, c.what)
	case err != nil:
		return Held{}, err
	case trace == "":
		return Held{}, nil
	}
	return Held{}, refusal("lease %s/%s not found, but a %s is or was active (%s): this control plane hides its lease or uses another one (set it with --leader-elect-resource-name): use a dry run or a sandbox",
		namespace, name, c.what, trace)
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

// hiddenError names the permission that is missing to find evidence.
type hiddenError struct{ right string }

func (e *hiddenError) Error() string { return "no permission to " + e.right }

// publishedRoots checks for the result of a controller that every
// kube-controller-manager runs.
func publishedRoots(ctx context.Context, client kubernetes.Interface) (string, error) {
	const published = "kube-root-ca.crt"
	_, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, published, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case apierrors.IsForbidden(err):
		return "", &hiddenError{"read the ConfigMap " + namespace + "/" + published}
	case err != nil:
		return "", fmt.Errorf("read the ConfigMap %s/%s: %w", namespace, published, err)
	}
	return "it created the ConfigMap " + namespace + "/" + published, nil
}

// boundPod finds a scheduled pod that uses the default scheduler. Mirror pods of static
// pods are ignored: they are bound from the start. Other pods that were created with a
// node cannot be distinguished from scheduled ones, and count.
func boundPod(ctx context.Context, client kubernetes.Interface) (string, error) {
	options := metav1.ListOptions{
		Limit:         500,
		FieldSelector: fields.AndSelectors(fields.OneTermEqualSelector("spec.schedulerName", corev1.DefaultSchedulerName), fields.OneTermNotEqualSelector("spec.nodeName", "")).String(),
	}
	for {
		pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		switch {
		case apierrors.IsForbidden(err):
			return "", &hiddenError{"list pods"}
		case err != nil:
			return "", fmt.Errorf("list scheduled pods: %w", err)
		}
		for _, pod := range pods.Items {
			if _, mirrored := pod.Annotations[corev1.MirrorPodAnnotationKey]; !mirrored {
				return fmt.Sprintf("pod %s/%s is scheduled", pod.Namespace, pod.Name), nil
			}
		}
		if options.Continue = pods.Continue; options.Continue == "" {
			return "", nil
		}
	}
}

func (c Component) unreadable(namespace, name string) error {
	return refusal("no permission to get the lease %s/%s, which would show whether another %s is active: request that permission, or use a dry run", namespace, name, c.what)
}
