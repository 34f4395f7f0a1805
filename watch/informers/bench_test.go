package informers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const manyPods = 40_000

// BenchmarkSync fills an informer from an API server that has every byte ready:
// ours, and a bare one of client-go's, in turn, each in a process of its own.
func BenchmarkSync(b *testing.B) {
	for _, contents := range []Contents{Whole, Metadata} {
		b.Run(string(contents), func(b *testing.B) {
			server := newFastServer(b, manyPods, contents)
			defer server.Close()
			for b.Loop() {
				sides := map[string][]side{}
				for range 5 {
					for _, name := range []string{"bare", "ours"} {
						sides[name] = append(sides[name], runSide(b, name, contents, server.URL))
					}
				}
				ours, bare := sides["ours"], sides["bare"]
				all := func(s side) float64 { return s.All.Seconds() }
				whole := func(s side) float64 { return s.Synced.Seconds() }
				cpu := func(s side) float64 { return s.CPU.Seconds() }
				peak := func(s side) float64 { return float64(s.Peak) / 1e6 }
				heap := func(s side) float64 { return float64(s.Heap) / 1e6 }
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(ours, func(s side) float64 { return s.First.Seconds() }), "s-first-rows")
				b.ReportMetric(median(ours, all), "s-all-rows")
				b.ReportMetric(median(ours, whole), "s-synced")
				b.ReportMetric(median(bare, whole), "s-bare")
				b.ReportMetric(median(ours, all)/median(bare, whole), "ratio-all-rows")
				b.ReportMetric(median(ours, whole)/median(bare, whole), "ratio-synced")
				b.ReportMetric(median(ours, cpu)/median(bare, cpu), "ratio-cpu")
				b.ReportMetric(median(ours, peak), "MB-peak")
				b.ReportMetric(median(bare, peak), "MB-peak-bare")
				b.ReportMetric(median(ours, peak)/median(bare, peak), "ratio-peak")
				b.ReportMetric(median(ours, heap), "MB-heap")
				b.ReportMetric(median(bare, heap), "MB-heap-bare")
			}
		})
	}
}

func median(sides []side, of func(side) float64) float64 {
	var all []float64
	for _, s := range sides {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// side is what one process measured of itself.
type side struct {
	// First is when there were 50 rows, All when there were all of them, Synced
	// when the informer had synced. CPU is what the process used, from its start.
	First, All, Synced, CPU time.Duration
	// Peak is what was resident at most, Heap what is in use at the end.
	Peak, Heap uint64
}

const sideVariable = "KCTL_CTRL_BENCHMARK_SIDE"

func runSide(b *testing.B, name string, contents Contents, url string) side {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestSide$", "-test.v")
	cmd.Env = append(os.Environ(), sideVariable+"="+name+" "+string(contents)+" "+url)
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%s: %v\n%s", name, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if text, found := strings.CutPrefix(line, "side "); found {
			var s side
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				b.Fatal(err)
			}
			s.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			return s
		}
	}
	b.Fatalf("%s says nothing:\n%s", name, out)
	return side{}
}

// TestSide is one side of BenchmarkSync. The server is given by its URL or, for
// others who compare themselves with a bare informer, by a kubeconfig.
func TestSide(t *testing.T) {
	words := strings.Fields(os.Getenv(sideVariable))
	if len(words) != 3 {
		t.Skip("it is a part of BenchmarkSync")
	}
	contents := Contents(words[1])
	config := &rest.Config{Host: words[2], QPS: -1}
	if filepath.IsAbs(words[2]) {
		var err error
		if config, err = clientcmd.BuildConfigFromFlags("", words[2]); err != nil {
			t.Fatal(err)
		}
	}
	var (
		s     side
		keep  any
		begun = time.Now()
	)
	if words[0] == "bare" {
		informer := bareInformer(t, config, contents)
		go informer.RunWithContext(t.Context())
		for !informer.HasSynced() {
			time.Sleep(time.Millisecond)
		}
		s.Synced = time.Since(begun)
		if n := len(informer.GetStore().ListKeys()); n != manyPods {
			t.Fatalf("%d pods", n)
		}
		keep = informer
	} else {
		set, err := New(config, Options{Recorder: state.RecorderFunc(func(state.Event) {})})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		h := open(t, set, pods, contents)
		pause := time.Millisecond
		for {
			w, err := h.Window(Query{}, 0, 50)
			if err != nil {
				t.Fatal(err)
			}
			if s.First == 0 && len(w.Rows) == 50 {
				s.First = time.Since(begun)
			}
			if s.All == 0 && w.Total == manyPods {
				s.All = time.Since(begun)
			}
			if s.All > 0 && w.Synced {
				break
			}
			time.Sleep(pause)
			if s.First > 0 {
				pause = time.Second / 60 // as often as a screen may look
			}
		}
		s.Synced = time.Since(begun)
		keep = h
	}
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.Heap = m.HeapAlloc
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); words[0] == "VmHWM:" {
			kb, _ := strconv.ParseUint(words[1], 10, 64)
			s.Peak = kb * 1024
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\nside %s\n", text)
	runtime.KeepAlive(keep)
}

func bareInformer(t *testing.T, config *rest.Config, contents Contents) cache.SharedIndexInformer {
	if contents == Metadata {
		client, err := metadata.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		getter := client.Resource(corev1.SchemeGroupVersion.WithResource("pods"))
		return cache.NewSharedIndexInformer(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (apiruntime.Object, error) { return getter.List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return getter.Watch(ctx, o)
			},
		}, &metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
	}
	client, err := kubernetes.NewForConfig(protobufConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	getter := client.CoreV1().Pods("")
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (apiruntime.Object, error) { return getter.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return getter.Watch(ctx, o)
		},
	}, &corev1.Pod{}, 0, cache.Indexers{})
}

func protobufConfig(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = apiruntime.ContentTypeProtobuf
	config.AcceptContentTypes = apiruntime.ContentTypeProtobuf + "," + apiruntime.ContentTypeJSON
	return config
}

// newFastServer serves n pods over protobuf, encoded beforehand.
func newFastServer(b *testing.B, n int, contents Contents) *httptest.Server {
	b.Helper()
	// Both are built into client-go's scheme; metadata has its own version.
	info, ok := apiruntime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), apiruntime.ContentTypeProtobuf)
	if !ok {
		b.Fatal("no protobuf")
	}
	encode := func(o apiruntime.Object) []byte {
		var out bytes.Buffer
		if err := info.Serializer.Encode(o, &out); err != nil {
			b.Fatal(err)
		}
		return out.Bytes()
	}
	var stream bytes.Buffer
	frames := info.StreamSerializer.Framer.NewFrameWriter(&stream)
	send := func(kind watch.EventType, o apiruntime.Object) {
		event := &metav1.WatchEvent{Type: string(kind), Object: apiruntime.RawExtension{Raw: encode(o)}}
		var out bytes.Buffer
		if err := info.StreamSerializer.Serializer.Encode(event, &out); err != nil {
			b.Fatal(err)
		}
		if _, err := frames.Write(out.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
	var page apiruntime.Object
	if contents == Whole {
		list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
		for i := range n {
			o := benchPod(i)
			send(watch.Added, o)
			if i < firstPage {
				list.Items = append(list.Items, *o)
			}
		}
		list.ResourceVersion, list.Continue, list.RemainingItemCount = "100000", "more", new(int64(n-firstPage))
		page = list
		end := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
		end.ResourceVersion, end.Annotations = "100000", map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		send(watch.Bookmark, end)
	} else {
		list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
		meta := func(o metav1.ObjectMeta) *metav1.PartialObjectMetadata {
			return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}, ObjectMeta: o}
		}
		for i := range n {
			o := meta(benchPod(i).ObjectMeta)
			send(watch.Added, o)
			if i < firstPage {
				list.Items = append(list.Items, *o)
			}
		}
		list.ResourceVersion, list.Continue, list.RemainingItemCount = "100000", "more", new(int64(n-firstPage))
		page = list
		send(watch.Bookmark, meta(metav1.ObjectMeta{ResourceVersion: "100000", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}))
	}
	first := encode(page)
	b.Logf("%d bytes a pod on the wire", stream.Len()/n)
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("watch") != "":
			w.Header().Set("Content-Type", apiruntime.ContentTypeProtobuf+";stream=watch")
			_, _ = w.Write(stream.Bytes())
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case r.URL.Query().Get("limit") != "":
			w.Header().Set("Content-Type", apiruntime.ContentTypeProtobuf)
			_, _ = w.Write(first)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("{}"))
		}
	}))
}

// benchPod is a pod as a ReplicaSet makes them and a kubelet runs them.
func benchPod(i int) *corev1.Pod {
	yes, now := true, metav1.Unix(1_700_000_000+int64(i), 0)
	name := fmt.Sprintf("web-%06d-7d9f8", i)
	fields := func(paths string) *metav1.FieldsV1 { return metav1.NewFieldsV1(paths) }
	condition := func(kind corev1.PodConditionType) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now}
	}
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, GenerateName: "web-7d9f8-", Namespace: fmt.Sprintf("ns-%03d", i%200), UID: "11111111-2222-3333-4444-" + "000000000000",
			ResourceVersion: strconv.Itoa(i + 1), CreationTimestamp: now,
			Labels:          map[string]string{"app": "web", "pod-template-hash": "7d9f8", "tier": strconv.Itoa(i % 7)},
			Annotations:     map[string]string{"example.com/revision": strconv.Itoa(i % 13)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d9f8", UID: "aaaaaaaa-2222-3333-4444-555555555555", Controller: &yes, BlockOwnerDeletion: &yes}},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kube-controller-manager", Operation: "Update", APIVersion: "v1", Time: &now, FieldsType: "FieldsV1", FieldsV1: fields(`{"f:metadata":{"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"aaaaaaaa-2222-3333-4444-555555555555\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{".":{},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{},"f:terminationGracePeriodSeconds":{}}}`)},
				{Manager: "kubelet", Operation: "Update", APIVersion: "v1", Time: &now, FieldsType: "FieldsV1", Subresource: "status", FieldsV1: fields(`{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:startTime":{}}}`)},
			},
		},
		Spec: corev1.PodSpec{
			NodeName: "node-" + strconv.Itoa(i%500), ServiceAccountName: "default", SchedulerName: "default-scheduler", RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst,
			Containers: []corev1.Container{{
				Name: "web", Image: "registry.example.com/shop/web:1.2.3", ImagePullPolicy: corev1.PullIfNotPresent,
				Env:          []corev1.EnvVar{{Name: "MODE", Value: "production"}, {Name: "LOG", Value: "info"}},
				Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
				Resources:    corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")}},
				VolumeMounts: []corev1.VolumeMount{{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
			}},
			Volumes: []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: "192.0.2.1", PodIP: "198.51.100.7", StartTime: &now,
			Conditions:        []corev1.PodCondition{condition(corev1.PodScheduled), condition(corev1.PodInitialized), condition(corev1.ContainersReady), condition(corev1.PodReady)},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "web", Ready: true, Image: "registry.example.com/shop/web:1.2.3", ImageID: "sha256:0000", Started: &yes, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}},
		},
	}
}
