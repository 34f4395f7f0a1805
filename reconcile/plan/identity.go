package plan

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// identity tells objects apart as the API server does: the version does not
// count.
type identity struct {
	group, kind, namespace, name string
}

func identityOf(content map[string]any) identity {
	u := unstructured.Unstructured{Object: content}
	group, _, ok := strings.Cut(u.GetAPIVersion(), "/")
	if !ok {
		group = ""
	}
	return identity{group, u.GetKind(), u.GetNamespace(), u.GetName()}
}
