// Package metrics serves metrics.k8s.io/v1beta1, the API of metrics-server, for the simulated
// nodes of a sandbox, on which containers use no resources.
//
// The usage of a running pod is, for CPU and memory each, the first of these that applies:
//
//   - the pod's annotation kctl-ctrl.dev/cpu-usage or kctl-ctrl.dev/memory-usage, a
//     quantity for the whole pod
//   - what meets the target of the HorizontalPodAutoscaler that scales the pod's
//     owner: request × averageUtilization, or averageValue
//   - the pod's requests
//
// A node's usage is that of its pods.
//
// The sandbox's kube-apiserver installs it as an additional API group: it needs no port, no
// certificate and no extension API server that has to become available, and nothing runs
// without a request. Each request reads pods, autoscalers and owners from the API server, so
// that a pod has metrics as soon as it is running. Custom and external metrics are not served.
package metrics
