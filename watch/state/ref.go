package state

import "strings"

// Ref names one object, or one kind of object where Name is empty.
type Ref struct {
	// Group and Resource are the API's own words: "apps", "deployments".
	// The core group is the empty string.
	Group    string `json:"group,omitempty"`
	Version  string `json:"version,omitempty"`
	Resource string `json:"resource"`
	// Namespace is empty for what is not namespaced.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// UID is empty where the observer was not told it.
	UID string `json:"uid,omitempty"`
}

// Type is the resource with its group, as kubectl prints it: "deployments.apps".
func (r Ref) Type() string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

// Key is the object's name with its namespace, as controllers write their
// queue keys: "shop/web", or "node-1".
func (r Ref) Key() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// String is "deployments.apps shop/web".
func (r Ref) String() string {
	return strings.TrimSuffix(r.Type()+" "+r.Key(), " ")
}

// Same reports whether both name the same object. UIDs decide when both are
// known; otherwise group, resource, namespace and name do.
func (r Ref) Same(o Ref) bool {
	if r.UID != "" && o.UID != "" {
		return r.UID == o.UID
	}
	return r.Group == o.Group && r.Resource == o.Resource && r.Namespace == o.Namespace && r.Name == o.Name
}
