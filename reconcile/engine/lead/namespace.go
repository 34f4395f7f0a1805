package lead

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
)

// checkNamespace refuses to take a lease for a namespace that is not there. Empty is
// all. Who may not read namespaces is believed.
func checkNamespace(ctx context.Context, client kubernetes.Interface, name, cluster string) error {
	if name == "" {
		return nil
	}
	_, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("context %q has no namespace %q, so that the lease would be held for nothing: check --namespace", cluster, name)
	case apierrors.IsForbidden(err):
		return nil
	}
	return explain.Error(err, fmt.Sprintf("look for namespace %q of context %q", name, cluster))
}
