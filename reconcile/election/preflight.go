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

// A Component is what an election is held for: a process of the control plane whose
// place this one takes. The zero Component is none.
type Component struct {
	// Namespace and Name are those of its Lease, unless its flags say otherwise.
	Namespace, Name string
	// what it is in a sentence: "controller manager".
	what string
	// trace finds what is left of it on a cluster where it works or has, though
	// there is no Lease; empty where there is nothing.
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
	return refusal("unsupported API server version %s.%s: the controllers in this binary (1.%s) support 1.%s and 1.%s: use a release of kctl-ctrl for that version, or a dry run",
		v.Major, v.Minor, minors[0], minors[0], minors[1])
}

// Held is what a Lease says of its holder; the zero Held is of a lease that nobody
// holds.
type Held struct {
	Holder           string
	Since, RenewTime time.Time
}

// CheckLease reads the Lease, and refuses where it does not tell whether another such
// component works here: it cannot be read, or it is missing on a cluster that one has
// worked on, as on managed control planes. One that holds no lease, or another, is not
// seen beside a lease that has expired: what it has written last says nothing of a
// quiet cluster (docs/active.md).
func (c Component) CheckLease(ctx context.Context, client kubernetes.Interface, namespace, name string) (Held, error) {
	if err := c.checkOwner(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}); err != nil {
		return Held{}, err // before it is there: to elect would create it
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
	// Nobody has held it, or it is kept elsewhere.
	trace, err := c.trace(ctx, client)
	var hidden *hiddenError
	switch {
	case errors.As(err, &hidden):
		return Held{}, refusal("lease %s/%s not found, and you lack permission to %s, which shows whether a %s is active anyway: request that permission, or use a dry run",
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

// hiddenError says which right is missing to find a trace.
type hiddenError struct{ right string }

func (e *hiddenError) Error() string { return "you lack permission to " + e.right }

// publishedRoots is the work of a loop that every kube-controller-manager has.
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

// boundPod is a pod that asks for the default scheduler and has a node. A kubelet
// makes such pods for those of its files, bound from the first; others that were
// created with a node cannot be told from bound ones, and count.
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
	return refusal("you lack permission to get the lease %s/%s, which shows whether another %s is active: request that permission, or use a dry run", namespace, name, c.what)
}
