package owners

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finalizerManagers reads from managedFields who set which finalizer.
func finalizerManagers(entries []metav1.ManagedFieldsEntry) map[string]string {
	managers := map[string]string{}
	for _, e := range entries {
		if e.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Metadata struct {
				Finalizers map[string]json.RawMessage `json:"f:finalizers"`
			} `json:"f:metadata"`
		}
		if json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		for key := range fields.Metadata.Finalizers {
			var name string
			if value, isSet := strings.CutPrefix(key, "v:"); isSet && json.Unmarshal([]byte(value), &name) == nil {
				managers[name] = e.Manager
			}
		}
	}
	return managers
}

// servers says who of Kubernetes removes a finalizer, and what it waits for.
// Those of GC itself are part of the cascade and not in it.
var servers = map[string]string{
	"kubernetes.io/pvc-protection":                                          "the pvc-protection loop, when no pod uses the claim",
	"kubernetes.io/pv-protection":                                           "the pv-protection loop, when no claim is bound to the volume",
	"batch.kubernetes.io/job-tracking":                                      "the job loop, when it has counted the pod",
	"scheduling.k8s.io/podgroup-protection":                                 "the podgroup-protection loop, when no pod is in the group",
	"service.kubernetes.io/load-balancer-cleanup":                           "the cloud's service loop, when the load balancer is gone",
	"resource.kubernetes.io/delete-protection":                              "the resourceclaim loop, when no pod uses the claim",
	"networking.k8s.io/service-cidr-finalizer":                              "the servicecidrs loop, when no address of the range is in use",
	"kubernetes.io/vac-protection":                                          "the volumeattributesclass-protection loop, when no volume uses the class",
	"customresourcecleanup.apiextensions.k8s.io":                            "the API server, when it has deleted every object of the type",
	"external-provisioner.volume.kubernetes.io/finalizer":                   "the volume's CSI provisioner, when the storage is gone",
	"kubernetes.io/pv-controller":                                           "the persistentvolume-binder loop, when the storage is gone",
	"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection":        "the snapshot controller",
	"snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection":    "the snapshot controller, when no claim is made from it",
	"snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection": "the snapshot controller",
}

// ServedBy is who of Kubernetes removes a finalizer and what it waits for, "the
// job loop, when it has counted the pod"; empty where nobody of Kubernetes does.
// The finalizers of GC itself are not known to it.
func ServedBy(finalizer string) string { return servedBy(finalizer) }

// SetBy is the field manager that set a finalizer of the object, where the
// object says so.
func (o *Object) SetBy(finalizer string) string { return o.setBy[finalizer] }

// servedBy is who removes a finalizer; empty where nobody of Kubernetes does.
func servedBy(name string) string {
	if who, known := servers[name]; known {
		return who
	}
	if strings.HasPrefix(name, "external-attacher/") {
		return "the volume's CSI attacher, when the volume is detached"
	}
	return ""
}
