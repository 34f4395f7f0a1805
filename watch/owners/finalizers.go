package owners

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finalizerManagers reads from managedFields which manager set which finalizer.
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

// servers lists what removes a finalizer of Kubernetes, and when. GC's own finalizers
// are part of the simulation and not listed.
var servers = map[string]string{
	"kubernetes.io/pvc-protection":                                          "the PVC protection controller, once no pod uses the claim",
	"kubernetes.io/pv-protection":                                           "the PV protection controller, once no claim is bound to the volume",
	"batch.kubernetes.io/job-tracking":                                      "the Job controller, once it has counted the pod",
	"scheduling.k8s.io/podgroup-protection":                                 "the PodGroup protection controller, once no pod is in the group",
	"service.kubernetes.io/load-balancer-cleanup":                           "the cloud's service controller, once the load balancer is deleted",
	"resource.kubernetes.io/delete-protection":                              "the ResourceClaim controller, once no pod uses the claim",
	"networking.k8s.io/service-cidr-finalizer":                              "the ServiceCIDR controller, once no address of the range is in use",
	"kubernetes.io/vac-protection":                                          "the VolumeAttributesClass protection controller, once no volume uses the class",
	"customresourcecleanup.apiextensions.k8s.io":                            "the API server, once all objects of the type are deleted",
	"external-provisioner.volume.kubernetes.io/finalizer":                   "the volume's CSI provisioner, once the storage is deleted",
	"kubernetes.io/pv-controller":                                           "the PersistentVolume controller, once the storage is deleted",
	"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection":        "the snapshot controller",
	"snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection":    "the snapshot controller, once no claim is being created from it",
	"snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection": "the snapshot controller",
}

// ServedBy describes what removes a finalizer, and when: "the Job controller, once it
// has counted the pod". It is empty if nothing in Kubernetes removes it, and for GC's
// own finalizers.
func ServedBy(finalizer string) string { return servedBy(finalizer) }

// SetBy is the field manager that set a finalizer of the object, if known.
func (o *Object) SetBy(finalizer string) string { return o.setBy[finalizer] }

// servedBy describes what removes a finalizer; empty if nothing in Kubernetes does.
func servedBy(name string) string {
	if who, known := servers[name]; known {
		return who
	}
	if strings.HasPrefix(name, "external-attacher/") {
		return "the volume's CSI attacher, once the volume is detached"
	}
	return ""
}
