package engine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
)

func serviceScenarios() []scenario {
	const (
		slices    = "endpointslice-controller create endpointslices"
		addresses = "endpoints-controller create endpoints"
		mirror    = "endpointslice-mirroring-controller"
	)
	service := func(spec string) string {
		return yamlObject("v1", "Service", "web", "", "spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}], "+spec+"}")
	}
	manual := yamlObject("v1", "Service", "web", "", "spec: {ports: [{port: 80}]}")
	endpoints := yamlObject("v1", "Endpoints", "web", "", "subsets: [{addresses: [{ip: 10.1.2.3}], ports: [{port: 80}]}]")
	slice := func(name, managed, meta string) string {
		return yamlObject("discovery.k8s.io/v1", "EndpointSlice", name, "labels: {kubernetes.io/service-name: web, endpointslice.kubernetes.io/managed-by: "+managed+"}, "+meta, "addressType: IPv4, endpoints: [{addresses: [10.1.2.9]}], ports: []")
	}
	return []scenario{
		{name: "service-new", quick: true, objects: service(""), wants: []string{slices, addresses}},
		{name: "service-headless", objects: documents(service("clusterIP: None"), yamlPod("p", "", "nodeName: gone-$NS, hostname: p, subdomain: web", podRunning)), wants: []string{slices, addresses}},
		{name: "service-with-pods", objects: documents(service(""), yamlPods(3, "p", "", "nodeName: gone-$NS", podRunning)), wants: []string{slices, addresses}},
		{name: "service-pod-not-ready", objects: documents(service(""), yamlPod("p", "", "nodeName: gone-$NS", "status: {phase: Running, podIP: 10.0.0.9, podIPs: [{ip: 10.0.0.9}]}")), wants: []string{slices}},
		{name: "service-publishes-not-ready", objects: documents(service("publishNotReadyAddresses: true"), yamlPod("p", "", "nodeName: gone-$NS", "status: {phase: Running, podIP: 10.0.0.9, podIPs: [{ip: 10.0.0.9}]}")), wants: []string{slices}},
		{name: "service-pod-ending", objects: documents(service(""), yamlPod("p", "finalizers: [example.com/stay]", "nodeName: gone-$NS", podRunning+", then: delete")), wants: []string{slices}},
		{name: "service-named-port", objects: documents(yamlObject("v1", "Service", "web", "", "spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}"), yamlPod("p", "", "nodeName: gone-$NS", podRunning)), wants: []string{slices}},
		{name: "service-stale-slice", objects: documents(service(""), slice("web-old", "endpointslice-controller.k8s.io", owned("v1", "Service", "web"))), wants: []string{"endpointslice-controller update endpointslices"}},
		{name: "service-stale-endpoints", objects: documents(service(""), endpoints), wants: []string{"endpoints-controller update endpoints"}},
		{name: "service-gone-endpoints-left", objects: yamlObject("v1", "Endpoints", "web", "labels: {endpoints.kubernetes.io/managed-by: endpoint-controller}", "subsets: []"), wants: []string{"endpoints-controller delete endpoints"}},
		{name: "service-mirrored", quick: true, objects: documents(manual, endpoints), wants: []string{mirror + " create endpointslices"}},
		{name: "service-mirror-changed", objects: documents(manual, endpoints, slice("web-old", "endpointslicemirroring-controller.k8s.io", owned("v1", "Endpoints", "web"))), wants: []string{mirror + " update endpointslices"}},
		{name: "service-mirror-of-none", objects: documents(manual, yamlObject("v1", "Endpoints", "web", "", "subsets: []"), slice("web-old", "endpointslicemirroring-controller.k8s.io", owned("v1", "Endpoints", "web"))), wants: []string{mirror + " delete endpointslices"}},
		{name: "servicecidr-new", objects: yamlObject("networking.k8s.io/v1", "ServiceCIDR", "$NS-x-c", "", "spec: {cidrs: [10.200.0.0/24]}"), wants: []string{"service-cidr-controller patch servicecidrs", "service-cidr-controller apply servicecidrs/status"}},
		{name: "servicecidr-ending", objects: yamlObject("networking.k8s.io/v1", "ServiceCIDR", "$NS-x-c", "finalizers: [networking.k8s.io/service-cidr-finalizer]", "spec: {cidrs: [10.201.0.0/24]}, then: delete"), wants: []string{"service-cidr-controller patch servicecidrs"}},
	}
}

func nodeScenarios() []scenario {
	const (
		lifecycle = "node-lifecycle-controller"
		patch     = lifecycle + " patch nodes"
		eviction  = "taint-eviction-controller delete pods"
		notReady  = "{type: Ready, status: 'False', reason: KubeletNotReady, lastHeartbeatTime: $AGO(1h), lastTransitionTime: $AGO(1h)}"
		fine      = "{type: Ready, status: 'True', lastHeartbeatTime: $AGO(1s), lastTransitionTime: $AGO(1h)}"
		noExecute = "taints: [{key: k, value: v, effect: NoExecute, timeAdded: $AGO(1h)}]"
	)
	all := []scenario{
		{name: "node-not-ready", quick: true, objects: documents(yamlNode("a", "", "", notReady), yamlNode("b", "", "", ""), yamlPod("p", "", "nodeName: $NS-x-a", podRunning)), wants: []string{patch}},
		{name: "node-unknown", objects: documents(yamlNode("a", "", "", "{type: Ready, status: Unknown, reason: NodeStatusUnknown, lastHeartbeatTime: $AGO(1h), lastTransitionTime: $AGO(1h)}"), yamlNode("b", "", "", ""), yamlPod("p", "", "nodeName: $NS-x-a", podRunning)), wants: []string{patch}},
		{name: "node-silent", objects: documents(yamlNode("a", "", "", ""), yamlPod("p", "", "nodeName: $NS-x-a", podRunning)), wants: []string{lifecycle + " update nodes/status", lifecycle + " update pods/status"}},
		{name: "node-recovered", objects: yamlNode("a", "", "taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}, {key: node.kubernetes.io/not-ready, effect: NoExecute, timeAdded: $AGO(1h)}]", ""), wants: []string{patch}},
		{name: "node-cordoned", objects: yamlNode("a", "", "unschedulable: true", ""), wants: []string{patch}},
		{name: "node-uncordoned", objects: yamlNode("a", "", "taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]", ""), wants: []string{patch}},
		{name: "node-labels", objects: yamlObject("v1", "Node", "$NS-x-a", "labels: {kubernetes.io/os: linux, kubernetes.io/arch: amd64, topology.kubernetes.io/zone: $NS}", "status: {conditions: ["+fine+"]}"), wants: []string{patch}},
		{name: "node-ttl", quick: true, objects: yamlNode("a", "annotations: {node.alpha.kubernetes.io/ttl: '99'}", "", ""), wants: []string{"ttl-controller patch nodes"}},
		{name: "node-addresses", objects: yamlNode("a", "", "", ""), wants: []string{"node-ipam-controller patch nodes"}},
		{name: "node-evicts", quick: true, objects: documents(yamlNode("a", "", noExecute, ""), yamlPod("p", "", "nodeName: $NS-x-a", podRunning)), wants: []string{eviction, "taint-eviction-controller patch pods/status"}},
		{name: "node-evicts-the-intolerant", objects: documents(yamlNode("a", "", noExecute, ""), yamlPod("p", "", "nodeName: $NS-x-a", podRunning), yamlPod("q", "", "nodeName: $NS-x-a, tolerations: [{operator: Exists}]", podRunning)), wants: []string{eviction}},
		{name: "node-evicts-after-a-while", objects: documents(yamlNode("a", "", noExecute, ""), yamlPod("p", "", "nodeName: $NS-x-a, tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 1}]", podRunning)), wants: []string{eviction}},
	}
	for _, pressure := range []string{"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"} {
		name := map[string]string{"MemoryPressure": "memory", "DiskPressure": "disk", "PIDPressure": "pid", "NetworkUnavailable": "network"}[pressure]
		all = append(all, scenario{name: "node-" + name, objects: yamlNode("a", "", "", fine+", {type: "+pressure+", status: 'True', lastHeartbeatTime: $AGO(1s), lastTransitionTime: $AGO(1h)}"), wants: []string{patch}})
	}
	return all
}

// attachmentOf is the name that upstream gives a VolumeAttachment.
func attachmentOf(handle, node string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(handle+"csi.example.com"+node)))
}

func volumeScenarios() []scenario {
	const (
		binder   = "persistentvolume-binder-controller"
		bindPV   = binder + " update persistentvolumes"
		statusPV = binder + " update persistentvolumes/status"
		claimed  = binder + " update persistentvolumeclaims"
		statusPC = binder + " update persistentvolumeclaims/status"
		source   = "csi: {driver: csi.example.com, volumeHandle: $NS}"
	)
	volume := func(meta, spec, rest string) string {
		return yamlObject("v1", "PersistentVolume", "$NS-x-v", meta, "spec: {capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce], "+source+", storageClassName: $NS-x-c, "+spec+"}, "+rest)
	}
	claim := func(name, meta, spec, rest string) string {
		return yamlObject("v1", "PersistentVolumeClaim", name, meta, "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: $NS-x-c, "+spec+"}, "+rest)
	}
	class := func(rest string) string {
		return yamlObject("storage.k8s.io/v1", "StorageClass", "$NS-x-c", "", "provisioner: csi.example.com, "+rest)
	}
	ref := "claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: $NS, name: data, uid: $UID(PersistentVolumeClaim/data)}"
	goneRef := "claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: $NS, name: gone, uid: 11111111-0000-0000-0000-000000000011}"
	attached := yamlObject("storage.k8s.io/v1", "VolumeAttachment", attachmentOf("volume-detached", "volume-detached-x-a"), "", "spec: {attacher: csi.example.com, nodeName: $NS-x-a, source: {persistentVolumeName: $NS-x-v}}, status: {attached: true}")
	managed := "annotations: {volumes.kubernetes.io/controller-managed-attach-detach: 'true'}"
	return []scenario{
		{name: "pv-available", objects: volume("", "", ""), wants: []string{statusPV}},
		{name: "pv-binds", quick: true, objects: documents(volume("", "", ""), claim("data", "", "", "")), wants: []string{bindPV}},
		{name: "pv-by-name", objects: documents(volume("", "", ""), claim("data", "", "volumeName: $NS-x-v", "")), wants: []string{bindPV}},
		{name: "pv-half-bound", objects: documents(claim("data", "", "volumeName: $NS-x-v", ""), volume("annotations: {pv.kubernetes.io/bound-by-controller: 'yes'}", ref, "")), wants: []string{claimed}},
		{name: "pv-reserved", objects: documents(claim("data", "", "", ""), volume("", "claimRef: {namespace: $NS, name: data}", "")), wants: []string{bindPV}},
		{name: "pv-released", objects: volume("", goneRef+", persistentVolumeReclaimPolicy: Retain", "status: {phase: Bound}"), wants: []string{statusPV}},
		{name: "pv-released-delete", objects: volume("annotations: {pv.kubernetes.io/provisioned-by: csi.example.com}", goneRef+", persistentVolumeReclaimPolicy: Delete", "status: {phase: Bound}"), wants: []string{statusPV}},
		{name: "pv-in-tree-released-delete", quick: true, objects: yamlObject("v1", "PersistentVolume", "$NS-x-v", "annotations: {pv.kubernetes.io/provisioned-by: kubernetes.io/host-path}", "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp/kctl-ctrl-$NS}, "+goneRef+", persistentVolumeReclaimPolicy: Delete}, status: {phase: Bound}"), wants: []string{statusPV}},
		{name: "pvc-provisioned-elsewhere", objects: documents(class(""), claim("data", "", "", "")), wants: []string{claimed}},
		{name: "pvc-waits-for-consumer", objects: documents(class("volumeBindingMode: WaitForFirstConsumer"), claim("data", "annotations: {volume.kubernetes.io/selected-node: node-1}", "", "")), wants: []string{claimed}},
		{name: "pvc-lost", objects: claim("data", "annotations: {pv.kubernetes.io/bind-completed: 'yes'}", "volumeName: gone", "status: {phase: Bound, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce]}"), wants: []string{statusPC}},
		{name: "pvc-pending", objects: claim("data", "", "volumeName: gone", "status: {phase: Bound}"), wants: []string{statusPC}},
		{name: "pvc-bound-status", objects: documents(claim("data", "annotations: {pv.kubernetes.io/bind-completed: 'yes', pv.kubernetes.io/bound-by-controller: 'yes'}", "volumeName: $NS-x-v", ""), volume("annotations: {pv.kubernetes.io/bound-by-controller: 'yes'}", ref, "status: {phase: Bound}")), wants: []string{statusPC}},
		{name: "pvc-protected-unused", quick: true, objects: claim("data", "finalizers: [kubernetes.io/pvc-protection]", "", "then: delete"), wants: []string{"persistentvolumeclaim-protection-controller update persistentvolumeclaims"}},
		{name: "pv-protected-unused", objects: volume("finalizers: [kubernetes.io/pv-protection]", "", "status: {phase: Available}, then: delete"), wants: []string{"persistentvolume-protection-controller update persistentvolumes"}},
		{name: "pvc-expanded", objects: documents(class("allowVolumeExpansion: true"), claim("data", "annotations: {pv.kubernetes.io/bind-completed: 'yes'}", "volumeName: $NS-x-v", "status: {phase: Bound, capacity: {storage: 512Mi}, accessModes: [ReadWriteOnce]}"), volume("", ref, "status: {phase: Bound}")), wants: []string{"persistentvolume-expander-controller create events"}},
		{name: "pvc-ephemeral", quick: true, objects: yamlPod("p", "", "volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]", ""), wants: []string{"ephemeral-volume-controller create persistentvolumeclaims"}},
		{name: "volume-attached", objects: documents(yamlNode("a", managed, "", ""), yamlObject("storage.k8s.io/v1", "CSINode", "$NS-x-a", "", "spec: {drivers: [{name: csi.example.com, nodeID: a}]}"), yamlObject("storage.k8s.io/v1", "CSIDriver", "csi.example.com", "", "spec: {attachRequired: true}"),
			claim("data", "annotations: {pv.kubernetes.io/bind-completed: 'yes'}", "volumeName: $NS-x-v", "status: {phase: Bound, capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce]}"), volume("", ref, "status: {phase: Bound}"), yamlPod("p", "", "nodeName: $NS-x-a, volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]", podRunning)),
			wants: []string{"~persistentvolume-attach-detach-controller create volumeattachments"}},
		{name: "volume-detached", objects: documents(yamlObject("v1", "Node", "$NS-x-a", managed, "status: {volumesAttached: [{name: 'kubernetes.io/csi/csi.example.com^volume-detached', devicePath: ''}], conditions: [{type: Ready, status: 'True', lastHeartbeatTime: $AGO(1s), lastTransitionTime: $AGO(1h)}]}"), volume("", goneRef, "status: {phase: Bound}"), attached), wants: []string{"~persistentvolume-attach-detach-controller delete volumeattachments"}},
		{name: "vac-protected", objects: yamlObject("storage.k8s.io/v1", "VolumeAttributesClass", "$NS-x-vac", "", "driverName: csi.example.com, parameters: {a: b}"), wants: []string{"volumeattributesclass-protection-controller update volumeattributesclasses"}},
		{name: "vac-unused", objects: yamlObject("storage.k8s.io/v1", "VolumeAttributesClass", "$NS-x-vac", "finalizers: [kubernetes.io/vac-protection]", "driverName: csi.example.com, parameters: {a: b}, then: delete"), wants: []string{"volumeattributesclass-protection-controller update volumeattributesclasses"}},
	}
}

func scalingScenarios() []scenario {
	const (
		hpaStatus = "horizontal-pod-autoscaler-controller update horizontalpodautoscalers/status"
		pdbStatus = "disruption-controller update poddisruptionbudgets/status"
	)
	hpa := func(spec string) string {
		return yamlObject("autoscaling/v2", "HorizontalPodAutoscaler", "web", "", "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 5, "+spec+"}")
	}
	pdb := func(spec, rest string) string {
		return yamlObject("policy/v1", "PodDisruptionBudget", "web", "", "spec: {"+webSelector+", "+spec+"}, "+rest)
	}
	set := yamlObject("apps/v1", "ReplicaSet", "web", webLabels, "spec: {replicas: 3, "+webSelector+", "+webTemplate+"}")
	mine := owned("apps/v1", "ReplicaSet", "web")
	return []scenario{
		{name: "hpa-without-target", objects: hpa(""), wants: []string{hpaStatus}},
		{name: "hpa-without-metrics", objects: documents(deployment("", "replicas: 2", ""), hpa("")), wants: []string{hpaStatus}},
		{name: "hpa-below-minimum", objects: documents(deployment("", "replicas: 1", ""), hpa("minReplicas: 3")), wants: []string{"horizontal-pod-autoscaler-controller update deployments/scale"}},
		{name: "hpa-above-maximum", objects: documents(deployment("", "replicas: 9", ""), hpa("")), wants: []string{"horizontal-pod-autoscaler-controller update deployments/scale"}},
		{name: "hpa-disabled", objects: documents(deployment("", "replicas: 0", ""), hpa("")), wants: []string{hpaStatus}},
		{name: "hpa-memory", objects: documents(deployment("", "replicas: 2", ""), hpa("metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 100Mi}}}]")), wants: []string{hpaStatus}},
		{name: "hpa-external", objects: documents(deployment("", "replicas: 2", ""), hpa("metrics: [{type: External, external: {metric: {name: queue}, target: {type: AverageValue, averageValue: 30}}}]")), wants: []string{hpaStatus}},
		{name: "hpa-two-on-one", objects: documents(deployment("", "replicas: 2", ""), hpa(""), yamlObject("autoscaling/v2", "HorizontalPodAutoscaler", "second", "", "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 5}")), wants: []string{hpaStatus}},
		{name: "pdb-number", quick: true, objects: documents(set, pdb("minAvailable: 2", ""), yamlPods(3, "p", mine, "nodeName: gone-$NS", podRunning)), wants: []string{pdbStatus}},
		{name: "pdb-share", objects: documents(set, pdb("minAvailable: 50%", ""), yamlPods(3, "p", mine, "nodeName: gone-$NS", podRunning)), wants: []string{pdbStatus}},
		{name: "pdb-max-unavailable", objects: documents(set, pdb("maxUnavailable: 1", ""), yamlPods(3, "p", mine, "nodeName: gone-$NS", podRunning)), wants: []string{pdbStatus}},
		{name: "pdb-without-pods", objects: pdb("minAvailable: 1", ""), wants: []string{pdbStatus}},
		{name: "pdb-of-bare-pods", objects: documents(pdb("maxUnavailable: 1", ""), yamlPods(2, "p", "", "nodeName: gone-$NS", podRunning)), wants: []string{pdbStatus}},
		{name: "pdb-unhealthy", objects: documents(set, pdb("minAvailable: 3, unhealthyPodEvictionPolicy: AlwaysAllow", ""), yamlPods(2, "p", mine, "nodeName: gone-$NS", podRunning)), wants: []string{pdbStatus}},
		{name: "pdb-evicting", objects: documents(set, pdb("minAvailable: 1", "status: {disruptionsAllowed: 9, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, disruptedPods: {p-0: $AGO(10m)}}"), yamlPods(2, "p", mine, "nodeName: gone-$NS", podRunning)), wants: []string{pdbStatus}},
		{name: "pdb-evicting-now", objects: documents(pdb("minAvailable: 1", "status: {disruptionsAllowed: 9, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, disruptedPods: {p-0: $IN(1h)}}"), yamlPods(2, "p", "", "nodeName: gone-$NS", podRunning)), wants: []string{pdbStatus}},
		{name: "pdb-stale-condition", objects: yamlPod("p", "", "nodeName: gone-$NS", "status: {phase: Running, conditions: [{type: DisruptionTarget, status: 'True', reason: EvictionByEvictionAPI, lastTransitionTime: $AGO(1h)}]}"), wants: []string{"disruption-controller update pods/status"}},
	}
}

// certificateRequest is a CSR in base64.
func certificateRequest(subject pkix.Name, dns ...string) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject, DNSNames: dns}, key)
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

func certificateScenarios() []scenario {
	const signing = "certificatesigningrequest-signing-controller"
	kubelet := pkix.Name{CommonName: "system:node:n", Organization: []string{"system:nodes"}}
	person := pkix.Name{CommonName: "somebody"}
	csr := func(signer string, request string, usages, rest string) string {
		return yamlObject("certificates.k8s.io/v1", "CertificateSigningRequest", "$NS-x-csr", "", "spec: {request: "+request+", signerName: "+signer+", usages: ["+usages+"]}, "+rest)
	}
	is := func(condition, age string) string {
		return "approval: {conditions: [{type: " + condition + ", status: 'True', reason: x, lastUpdateTime: $AGO(" + age + "), lastTransitionTime: $AGO(" + age + ")}]}"
	}
	const client = "digital signature, client auth"
	return []scenario{
		{name: "csr-kubelet", quick: true, objects: csr("kubernetes.io/kube-apiserver-client-kubelet", certificateRequest(kubelet), client, ""), wants: []string{"certificatesigningrequest-approving-controller update certificatesigningrequests/approval"}},
		{name: "csr-approved-client", quick: true, objects: csr("kubernetes.io/kube-apiserver-client", certificateRequest(person), client, is("Approved", "1s")), wants: []string{signing + " update certificatesigningrequests/status"}},
		{name: "csr-approved-kubelet-client", objects: csr("kubernetes.io/kube-apiserver-client-kubelet", certificateRequest(kubelet), client, is("Approved", "1s")), wants: []string{signing + " update certificatesigningrequests/status"}},
		{name: "csr-approved-kubelet-serving", objects: csr("kubernetes.io/kubelet-serving", certificateRequest(kubelet, "n"), "digital signature, server auth", is("Approved", "1s")), wants: []string{signing + " update certificatesigningrequests/status"}},
		{name: "csr-approved-wrong", objects: csr("kubernetes.io/kubelet-serving", certificateRequest(person), "digital signature, server auth", is("Approved", "1s")), wants: []string{signing + " update certificatesigningrequests/status"}},
	}
}

func resourceScenarios() []scenario {
	const claims = "resourceclaim-controller"
	request := "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}"
	uses := func(how string) string { return "resourceClaims: [{name: gpu, " + how + "}]" }
	allocation := "allocation: {devices: {results: [{request: r, driver: dra.example.com, pool: $NS, device: d}]}}"
	return []scenario{
		{name: "claim-from-template", quick: true, objects: documents(yamlObject("resource.k8s.io/v1", "ResourceClaimTemplate", "t", "", "spec: {"+request+"}"), yamlPod("p", "", uses("resourceClaimTemplateName: t"), "")), wants: []string{claims + " create resourceclaims"}},
		{name: "claim-reserved-for-nobody", objects: yamlObject("resource.k8s.io/v1", "ResourceClaim", "c", "finalizers: [resource.kubernetes.io/delete-protection]", request+", status: {"+allocation+", reservedFor: [{resource: pods, name: gone, uid: 11111111-0000-0000-0000-000000000012}]}"), wants: []string{claims + " update resourceclaims/status"}},
		{name: "claim-of-done-pod", objects: documents(yamlPod("p", "", "restartPolicy: Never, "+uses("resourceClaimName: c"), "status: {phase: Succeeded}"), yamlObject("resource.k8s.io/v1", "ResourceClaim", "c", "finalizers: [resource.kubernetes.io/delete-protection]", request+", status: {"+allocation+", reservedFor: [{resource: pods, name: p, uid: $UID(Pod/p)}]}")), wants: []string{claims + " update resourceclaims/status"}},
		{name: "claim-generated-of-done-pod", objects: documents(yamlObject("resource.k8s.io/v1", "ResourceClaimTemplate", "t", "", "spec: {"+request+"}"), yamlPod("p", "", "restartPolicy: Never, "+uses("resourceClaimTemplateName: t"), "status: {phase: Succeeded, resourceClaimStatuses: [{name: gpu, resourceClaimName: c}]}"), yamlObject("resource.k8s.io/v1", "ResourceClaim", "c", "annotations: {resource.kubernetes.io/pod-claim-name: gpu}, "+owned("v1", "Pod", "p"), request)), wants: []string{claims + " delete resourceclaims"}},
		{name: "claim-reserved-for-scheduled-pod", objects: documents(yamlObject("resource.k8s.io/v1", "ResourceClaim", "c", "finalizers: [resource.kubernetes.io/delete-protection]", request+", status: {"+allocation+"}"), yamlPod("p", "", "nodeName: gone-$NS, "+uses("resourceClaimName: c"), "")), wants: []string{claims + " update resourceclaims/status"}},
		{name: "device-tainted", objects: documents(yamlObject("resource.k8s.io/v1", "ResourceSlice", "$NS-x-s", "", "spec: {driver: dra.example.com, nodeName: node-1, pool: {name: $NS, generation: 1, resourceSliceCount: 1}, devices: [{name: d, taints: [{key: k, value: v, effect: NoExecute, timeAdded: $AGO(1h)}]}]}"),
			yamlPod("p", "", "nodeName: gone-$NS, "+uses("resourceClaimName: c"), podRunning), yamlObject("resource.k8s.io/v1", "ResourceClaim", "c", "finalizers: [resource.kubernetes.io/delete-protection]", request+", status: {"+allocation+", reservedFor: [{resource: pods, name: p, uid: $UID(Pod/p)}]}")), wants: []string{"device-taint-eviction-controller delete pods"}},
	}
}

func otherScenarios() []scenario {
	migration := func(group, resource string) string {
		return yamlObject("storagemigration.k8s.io/v1", "StorageVersionMigration", "$NS-x-m", "", "spec: {resource: {group: '"+group+"', resource: "+resource+"}}")
	}
	var all []scenario
	for i, r := range [][2]string{{"", "configmaps"}, {"apps", "deployments"}, {"batch", "jobs"}} {
		all = append(all, scenario{name: fmt.Sprintf("migration-%d", i), objects: migration(r[0], r[1]), wants: []string{"storage-version-migrator-controller update storageversionmigrations/status"}})
	}
	return append(all,
		scenario{name: "trust-bundle", objects: "", gone: []string{"/registry/clustertrustbundles/"}, wants: []string{"~kube-apiserver-serving-clustertrustbundle-publisher-controller create clustertrustbundles"}},
		scenario{name: "admission-policy-checked", objects: yamlObject("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "$NS-x-p", "", "spec: {matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}, validations: [{expression: 'object.spec.replicas < 5'}]}"), wants: []string{"validatingadmissionpolicy-status-controller apply validatingadmissionpolicies/status"}},
		scenario{name: "admission-policy-with-mistake", objects: yamlObject("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "$NS-x-p", "", "spec: {matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}, validations: [{expression: 'object.spec.replicaz < 5'}]}"), wants: []string{"validatingadmissionpolicy-status-controller apply validatingadmissionpolicies/status"}},
	)
}
