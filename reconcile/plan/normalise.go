package plan

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// scrubber takes generated names and UIDs out of texts.
type scrubber struct {
	known    map[string]bool
	prefixes map[string]bool
}

// generates are the types whose dependents are named after them with a random
// suffix.
var generates = []string{"ReplicaSet.apps", "DaemonSet.apps", "ReplicationController", "Job.batch"}

func newScrubber(items []*item) *scrubber {
	s := &scrubber{known: map[string]bool{}, prefixes: map[string]bool{"kube-api-access-": true}}
	for _, i := range items {
		for _, content := range []map[string]any{i.start, i.end} {
			if content == nil {
				continue
			}
			s.known[uidOf(content)] = true
			if prefix := generatePrefix(content); prefix != "" {
				s.prefixes[prefix] = true
			}
		}
		if slices.Contains(generates, i.typeName()) {
			s.prefixes[i.name+"-"] = true
		}
	}
	delete(s.known, "")
	return s
}

var (
	uidPattern  = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	namePattern = regexp.MustCompile(`[a-z0-9][-a-z0-9.]*`)
)

// uids replaces the UIDs of known objects by "*".
func (s *scrubber) uids(text string) string {
	if strings.Count(text, "-") < 4 {
		return text
	}
	return uidPattern.ReplaceAllStringFunc(text, func(uid string) string {
		if s.known[uid] {
			return "*"
		}
		return uid
	})
}

// text replaces UIDs and the random parts of names, also of names that no
// captured object has: a pod that a quota refused.
func (s *scrubber) text(text string) string {
	if !strings.Contains(text, "-") {
		return text
	}
	return namePattern.ReplaceAllStringFunc(s.uids(text), s.name)
}

// How the API server generates names: k8s.io/apiserver@v0.37.1
// pkg/storage/names/generate.go, with the letters of apimachinery's
// pkg/util/rand.
const (
	suffixAlphabet  = "bcdfghjklmnpqrstvwxz2456789"
	suffixLength    = 5
	maxPrefixLength = 63 - suffixLength
)

// generatePrefix is what an object's generated name begins with, or empty.
func generatePrefix(content map[string]any) string {
	prefix := (&unstructured.Unstructured{Object: content}).GetGenerateName()
	return prefix[:min(len(prefix), maxPrefixLength)]
}

func isSuffix(text string) bool {
	return len(text) == suffixLength && strings.Trim(text, suffixAlphabet) == ""
}

func (s *scrubber) name(name string) string {
	for at := 0; at < len(name); at++ {
		if name[at] != '-' || !s.prefixes[name[:at+1]] {
			continue
		}
		rest := name[at+1:]
		if len(rest) < suffixLength || !isSuffix(rest[:suffixLength]) {
			continue
		}
		if len(rest) == suffixLength || rest[suffixLength] == '-' || rest[suffixLength] == '.' {
			return name[:at+1] + "*" + rest[suffixLength:]
		}
	}
	return name
}

// value is a copy of any JSON value with its texts scrubbed.
func (s *scrubber) value(value any) any {
	switch value := value.(type) {
	case string:
		return s.text(value)
	case []any:
		copied := make([]any, len(value))
		for i, item := range value {
			copied[i] = s.value(item)
		}
		return copied
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, item := range value {
			copied[key] = s.value(item)
		}
		return copied
	default:
		return value
	}
}

// dropped are the fields of a type that differ from run to run, or that say
// what the tree says already. A field that a manifest sets is kept.
var dropped = map[string][][]string{
	"Node":                           {{"spec", "podCIDR"}, {"spec", "podCIDRs"}},
	"Pod":                            {{"spec", "nodeName"}, {"spec", "schedulingGates"}},
	"Service":                        {{"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"spec", "healthCheckNodePort"}},
	"PersistentVolume":               {{"spec", "claimRef", "uid"}, {"spec", "claimRef", "resourceVersion"}, {"spec", "nodeAffinity"}},
	"PersistentVolumeClaim":          {{"spec", "volumeName"}},
	"EndpointSlice.discovery.k8s.io": {{"endpoints"}},
}

// droppedAnnotations are times, node names and copies of other fields.
var droppedAnnotations = []string{
	"kubectl.kubernetes.io/last-applied-configuration",
	"endpoints.kubernetes.io/last-change-trigger-time",
	"volume.kubernetes.io/selected-node",
	"deployment.kubernetes.io/desired-replicas",
	"deployment.kubernetes.io/max-replicas",
	"autoscaling.alpha.kubernetes.io/conditions",
	"control-plane.alpha.kubernetes.io/leader",
}

// normal is an object without what differs from run to run. The status is kept
// only for types whose health statusOf does not tell in words.
func (w *world) normal(i *item, content map[string]any) map[string]any {
	if content == nil {
		return nil
	}
	n, _ := w.scrub.value(content).(map[string]any)
	metadata, _ := n["metadata"].(map[string]any)
	for _, field := range append([]string{"generateName"}, serverFields...) {
		delete(metadata, field)
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		for _, name := range droppedAnnotations {
			delete(annotations, name)
		}
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	for _, path := range dropped[i.typeName()] {
		if !i.asksFor(path...) {
			unstructured.RemoveNestedField(n, path...)
		}
	}
	n = i.withRules(n)
	switch i.typeName() {
	case "Service":
		i.dropNodePorts(n)
	case "Secret":
		if n["type"] == "kubernetes.io/service-account-token" {
			delete(n, "data")
		}
	}
	if _, told := inWords[i.typeName()]; told {
		delete(n, "status")
	} else if status, ok := n["status"].(map[string]any); ok {
		n["status"] = withoutTimes(status)
	}
	return n
}

// asksFor reports whether one of the manifests sets a field.
func (i *item) asksFor(path ...string) bool {
	for _, manifest := range []map[string]any{i.manifest, i.oldManifest} {
		if value, ok, _ := unstructured.NestedFieldNoCopy(manifest, path...); ok && value != nil {
			return true
		}
	}
	return false
}

func (i *item) dropNodePorts(service map[string]any) {
	for _, manifest := range []map[string]any{i.manifest, i.oldManifest} {
		for _, port := range portsOf(manifest) {
			if port["nodePort"] != nil {
				return
			}
		}
	}
	for _, port := range portsOf(service) {
		delete(port, "nodePort")
	}
}

func portsOf(service map[string]any) []map[string]any {
	spec, _ := service["spec"].(map[string]any)
	list, _ := spec["ports"].([]any)
	var ports []map[string]any
	for _, item := range list {
		if port, ok := item.(map[string]any); ok {
			ports = append(ports, port)
		}
	}
	return ports
}

// withoutTimes drops times and counters of versions from a status, at any
// depth: by name, as upstream's types name them.
func withoutTimes(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, item := range value {
			if key == "observedGeneration" || strings.HasSuffix(key, "Time") || strings.HasSuffix(key, "Timestamp") {
				continue
			}
			kept[key] = withoutTimes(item)
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i, item := range value {
			kept[i] = withoutTimes(item)
		}
		return kept
	default:
		return value
	}
}
