package request

import "slices"

// anyResource stands for every group and resource in a rule.
const anyResource = "*"

// A review is a resource whose creation asks the API server a question and
// persists nothing.
type review struct {
	group, resource string
	namespaced      bool
}

// reviews pass in every mode. The reason is the same for all: their storage
// has a Create that answers and stores nothing (k8s.io/kubernetes v1.37.1
// pkg/registry/authorization, pkg/registry/authentication), and loops need the
// answers: csrapproving asks a SubjectAccessReview before it approves.
var reviews = []review{
	{group: "authorization.k8s.io", resource: "selfsubjectaccessreviews"},
	{group: "authorization.k8s.io", resource: "selfsubjectrulesreviews"},
	{group: "authorization.k8s.io", resource: "subjectaccessreviews"},
	{group: "authorization.k8s.io", resource: "localsubjectaccessreviews", namespaced: true},
	{group: "authentication.k8s.io", resource: "selfsubjectreviews"},
	// Authenticates the token in its body; hands none out.
	{group: "authentication.k8s.io", resource: "tokenreviews"},
}

func isReview(group, resource string, namespaced bool) bool {
	return slices.Contains(reviews, review{group, resource, namespaced})
}

// connectSubresources open a stream or forward a request to a kubelet, a pod or
// a service. They act on GET as well and know no dry run.
var connectSubresources = []string{"exec", "attach", "portforward", "proxy"}

// A subresourceRule says which verbs a subresource takes.
type subresourceRule struct {
	group, resource, subresource string
	verbs                        []string
}

// subresources are all the mutable subresources that the API server serves at
// v1.37.1. One that is not listed is refused: nobody has thought about what it
// does with dryRun.
var subresources = []subresourceRule{
	{anyResource, anyResource, "status", []string{"update", "patch", "apply"}},
	{anyResource, anyResource, "scale", []string{"update", "patch", "apply"}},
	{"", "pods", "binding", []string{"create"}},
	{"", "pods", "eviction", []string{"create"}},
	{"", "pods", "ephemeralcontainers", []string{"update", "patch", "apply"}},
	{"", "pods", "resize", []string{"update", "patch", "apply"}},
	{"", "serviceaccounts", "token", []string{"create"}},
	{"", "namespaces", "finalize", []string{"update"}},
	{"certificates.k8s.io", "certificatesigningrequests", "approval", []string{"update", "patch", "apply"}},
}

func subresourceTakes(group, resource, subresource, verb string) bool {
	return slices.ContainsFunc(subresources, func(s subresourceRule) bool {
		return s.subresource == subresource && slices.Contains(s.verbs, verb) &&
			(s.group == anyResource || s.group == group && s.resource == resource)
	})
}

// builtinGroups are served by kube-apiserver itself at v1.37.1, on storage that
// honours dryRun. The list is kept by hand, not read from client-go's scheme:
// any package can add to that.
var builtinGroups = []string{
	"",
	"admissionregistration.k8s.io",
	"apiextensions.k8s.io",
	"apiregistration.k8s.io",
	"apps",
	"authentication.k8s.io",
	"authorization.k8s.io",
	"autoscaling",
	"batch",
	"certificates.k8s.io",
	"coordination.k8s.io",
	"discovery.k8s.io",
	"events.k8s.io",
	"extensions",
	"flowcontrol.apiserver.k8s.io",
	"internal.apiserver.k8s.io",
	"lifecycle.k8s.io",
	"networking.k8s.io",
	"node.k8s.io",
	"policy",
	"rbac.authorization.k8s.io",
	"resource.k8s.io",
	"scheduling.k8s.io",
	"storage.k8s.io",
	"storagemigration.k8s.io",
}

// BuiltinGroup reports whether kube-apiserver serves the API group itself. It
// is the default of Options.TrustsDryRun, for callers to build on.
func BuiltinGroup(group string) bool {
	_, found := slices.BinarySearch(builtinGroups, group)
	return found
}

// readablePaths are the paths outside the API groups that a GET may ask for,
// with everything below those that end in a slash. /debug and /logs are left
// out on purpose: they run profilers and read the server's files.
var readablePaths = []string{
	"/", "/api", "/apis", "/apis/", "/api/", "/version", "/version/", "/healthz", "/healthz/", "/livez", "/livez/",
	"/readyz", "/readyz/", "/metrics", "/metrics/", "/openapi/", "/.well-known/", "/openid/", "/statusz", "/flagz",
}
