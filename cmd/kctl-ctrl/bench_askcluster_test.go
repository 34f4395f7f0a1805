package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
)

// benchedCluster is a filled sandbox behind a meter.
type benchedCluster struct {
	*testing.B
	binary     string
	kubeconfig string
	wire       *wireMeter
}

func newBenchedCluster(b *testing.B, binary string, namespaces int) *benchedCluster {
	b.Helper()
	sb, err := sandbox.Start(b.Context(), sandbox.Options{DisableAdmission: []string{"ServiceAccount"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sb.Close(context.Background()) })
	begin := time.Now()
	if err := fillAsked(b.Context(), sb, namespaces); err != nil {
		b.Fatal(err)
	}
	b.Logf("filled in %v", time.Since(begin).Round(time.Second))
	c := &benchedCluster{B: b, binary: binary, kubeconfig: filepath.Join(b.TempDir(), "kubeconfig"), wire: newWireMeter(b, sb.Endpoint().URL)}
	if _, err := sb.WriteKubeconfig(c.kubeconfig); err != nil {
		b.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		b.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + c.wire.listener.Addr().String()
	}
	if err := clientcmd.WriteToFile(*config, c.kubeconfig); err != nil {
		b.Fatal(err)
	}
	return c
}

// fillAsked writes the cluster's objects into etcd, as JSON, which is many times
// faster than asking kube-apiserver to. Applications have a Deployment, a
// ReplicaSet, eight pods, a ConfigMap, a Secret and custom resources.
func fillAsked(ctx context.Context, sb *sandbox.Sandbox, namespaces int) error {
	if err := defineTypes(ctx, sb); err != nil {
		return err
	}
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{sb.EtcdEndpoint()}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer etcd.Close()
	var writing errgroup.Group
	writing.SetLimit(4)
	var batch []clientv3.Op
	flush := func() {
		ops := batch
		batch = nil
		writing.Go(func() error {
			_, err := etcd.Txn(ctx).Then(ops...).Commit()
			return err
		})
	}
	put := func(key string, object map[string]any) error {
		text, err := json.Marshal(object)
		if err != nil {
			return err
		}
		if batch = append(batch, clientv3.OpPut("/registry/"+key, string(text))); len(batch) == 100 {
			flush()
		}
		return nil
	}
	for n := range namespaces {
		name := fmt.Sprintf("ns-%d", n)
		if err := put("namespaces/"+name, storedObject("v1", "Namespace", "", name, nil)); err != nil {
			return err
		}
	}
	for written, app := 0, 0; written < askObjects; app++ {
		for key, object := range application(app, fmt.Sprintf("ns-%d", app%namespaces)) {
			if err := put(key, object); err != nil {
				return err
			}
			written++
		}
	}
	flush()
	return writing.Wait()
}

// storedObject is an object as a server stores it: with a uid, and with managedFields,
// which no list can leave out.
func storedObject(apiVersion, kind, namespace, name string, owner map[string]any) map[string]any {
	metadata := map[string]any{
		"name": name, "uid": noise(kind+name, 16), "creationTimestamp": "2026-01-01T00:00:00Z", "labels": map[string]any{"app": name, "team": "shop"},
		"managedFields": []any{map[string]any{
			"manager": "kube-controller-manager", "operation": "Update", "apiVersion": apiVersion, "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{
				"f:metadata": map[string]any{"f:labels": map[string]any{".": map[string]any{}, "f:app": map[string]any{}, "f:team": map[string]any{}},
					"f:ownerReferences": map[string]any{".": map[string]any{}, `k:{"uid":"` + noise(kind+name+"owner", 16) + `"}`: map[string]any{}}},
				"f:spec": map[string]any{"f:replicas": map[string]any{}, "f:selector": map[string]any{}, "f:template": map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{}},
					"f:spec": map[string]any{"f:containers": map[string]any{`k:{"name":"web"}`: map[string]any{".": map[string]any{}, "f:env": map[string]any{}, "f:image": map[string]any{}, "f:ports": map[string]any{}}}}}},
			},
		}},
	}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	if owner != nil {
		of := owner["metadata"].(map[string]any)
		metadata["ownerReferences"] = []any{map[string]any{
			"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": of["name"], "uid": of["uid"], "controller": true, "blockOwnerDeletion": true,
		}}
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
}

// noise is text that does not compress well, the same in every run.
func noise(of string, bytes int) string {
	out := make([]byte, bytes)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(of))).Read(out)
	return hex.EncodeToString(out)
}

// application gives the objects of one application by their keys.
func application(app int, namespace string) map[string]map[string]any {
	name := fmt.Sprintf("app-%d", app)
	labels := map[string]any{"app": name}
	template := map[string]any{
		"metadata": map[string]any{"labels": labels, "annotations": map[string]any{"prometheus.io/scrape": "true", "prometheus.io/port": "8080"}},
		"spec": map[string]any{
			"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30, "securityContext": map[string]any{},
			"containers": []any{map[string]any{
				"name": "web", "image": "registry.example/team/" + name + ":1.2.3", "imagePullPolicy": "IfNotPresent",
				"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
				"ports": []any{map[string]any{"containerPort": 8080, "name": "http", "protocol": "TCP"}},
				"env": []any{
					map[string]any{"name": "POD_NAME", "valueFrom": map[string]any{"fieldRef": map[string]any{"apiVersion": "v1", "fieldPath": "metadata.name"}}},
					map[string]any{"name": "DATABASE_URL", "value": "postgres://db." + namespace + ".svc.cluster.local:5432/shop"},
				},
				"resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}, "limits": map[string]any{"memory": "256Mi"}},
			}},
		},
	}
	deployment := storedObject("apps/v1", "Deployment", namespace, name, nil)
	deployment["spec"] = map[string]any{"replicas": 8, "selector": map[string]any{"matchLabels": labels}, "template": template}
	deployment["status"] = map[string]any{"replicas": 8, "readyReplicas": 8, "updatedReplicas": 8, "availableReplicas": 8}
	set := storedObject("apps/v1", "ReplicaSet", namespace, name+"-5d4f", deployment)
	set["metadata"].(map[string]any)["annotations"] = map[string]any{"deployment.kubernetes.io/revision": "1"}
	set["spec"] = deployment["spec"]
	set["status"] = map[string]any{"replicas": 8, "readyReplicas": 8, "availableReplicas": 8}
	config := storedObject("v1", "ConfigMap", namespace, name, nil)
	config["data"] = map[string]any{"app.yaml": "password: " + noise(name, 200) + "\n" + strings.Repeat("setting: value of some length\n", 40)}
	secret := storedObject("v1", "Secret", namespace, name, nil)
	secret["type"], secret["data"] = "Opaque", map[string]any{"token": noise(name+"token", 400)}
	objects := map[string]map[string]any{
		"deployments/" + namespace + "/" + name:           deployment,
		"replicasets/" + namespace + "/" + name + "-5d4f": set,
		"configmaps/" + namespace + "/" + name:            config,
		"secrets/" + namespace + "/" + name:               secret,
	}
	for i := range 8 {
		pod := storedObject("v1", "Pod", namespace, fmt.Sprintf("%s-5d4f-%d", name, i), set)
		pod["metadata"].(map[string]any)["labels"] = map[string]any{"app": name, "team": "shop", "pod-template-hash": "5d4f"}
		pod["spec"] = template["spec"]
		ready := []any{}
		for _, t := range []string{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
			ready = append(ready, map[string]any{"type": t, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"})
		}
		pod["status"] = map[string]any{"phase": "Running", "qosClass": "Burstable", "hostIP": "10.0.0.1", "podIP": "10.1.2.3", "conditions": ready, "startTime": "2026-01-01T00:00:00Z",
			"containerStatuses": []any{map[string]any{"name": "web", "ready": true, "started": true, "restartCount": 0, "image": "registry.example/team/" + name + ":1.2.3",
				"imageID": "registry.example/team/web@sha256:" + noise(name, 32), "containerID": "containerd://" + noise(fmt.Sprint(name, i), 32),
				"state": map[string]any{"running": map[string]any{"startedAt": "2026-01-01T00:00:00Z"}}}}}
		objects[fmt.Sprintf("pods/%s/%s-5d4f-%d", namespace, name, i)] = pod
	}
	for i := range 4 {
		n := (app*4 + i) % askTypes
		group := fmt.Sprintf("g%d.bench.example", n%askGroups)
		custom := storedObject(group+"/v1", fmt.Sprintf("Thing%d", n), namespace, name, deployment)
		custom["spec"] = map[string]any{"notes": strings.Repeat("what an operator was told ", 20)}
		objects[fmt.Sprintf("%s/thing%ds/%s/%s", group, n, namespace, name)] = custom
	}
	return objects
}

// defineTypes creates the CustomResourceDefinitions and waits until all are
// served.
func defineTypes(ctx context.Context, sb *sandbox.Sandbox) error {
	config, err := testbed.SeedConfig(sb)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	var creating errgroup.Group
	creating.SetLimit(8)
	for n := range askTypes {
		group := fmt.Sprintf("g%d.bench.example", n%askGroups)
		plural := fmt.Sprintf("thing%ds", n)
		definition := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + group},
			"spec": map[string]any{
				"group": group, "scope": "Namespaced", "names": map[string]any{"plural": plural, "singular": fmt.Sprintf("thing%d", n), "kind": fmt.Sprintf("Thing%d", n)},
				"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
			},
		}}
		creating.Go(func() error {
			_, err := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).Create(ctx, definition, metav1.CreateOptions{})
			return err
		})
	}
	if err := creating.Wait(); err != nil {
		return err
	}
	asking, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 5*time.Minute, true, func(context.Context) (bool, error) {
		_, lists, err := asking.ServerGroupsAndResources()
		served := 0
		for _, list := range lists {
			if strings.Contains(list.GroupVersion, ".bench.example/") {
				served += len(list.APIResources)
			}
		}
		return err == nil && served == askTypes, nil
	})
}
