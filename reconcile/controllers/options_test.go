package controllers

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubernetes/pkg/features"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/emulation"
)

// Each of upstream's flags is offered, or withheld for a reason that is written
// down; nothing is withheld that upstream does not have.
func TestFlagsAreUpstreams(t *testing.T) {
	o, err := NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.AddFlags(fs)

	sections, flags := withheld()
	known, off, aliases := nameLists()
	for section, set := range o.upstream.Flags(known, off, aliases).FlagSets {
		_, skipped := sections[section]
		delete(sections, section)
		set.VisitAll(func(f *pflag.Flag) {
			_, withheld := flags[f.Name]
			delete(flags, f.Name)
			if offered := fs.Lookup(f.Name) != nil; offered == (skipped || withheld) {
				t.Errorf("--%s of section %s: offered %v", f.Name, section, offered)
			}
		})
	}
	for name := range sections {
		t.Errorf("upstream has no section %q", name)
	}
	for name := range flags {
		t.Errorf("upstream has no flag --%s", name)
	}
	for _, name := range []string{
		"controllers", "concurrent-deployment-syncs", "kube-api-qps", "kube-api-burst", "feature-gates", "min-resync-period",
		"controller-start-interval", "horizontal-pod-autoscaler-sync-period", "node-monitor-grace-period",
		"terminated-pod-gc-threshold", "cluster-signing-cert-file", "allocate-node-cidrs", "cluster-cidr",
		"service-account-private-key-file", "root-ca-file", "enable-garbage-collector", "pvclaimbinder-sync-period",
	} {
		if fs.Lookup(name) == nil {
			t.Errorf("no --%s", name)
		}
	}
}

func TestComplete(t *testing.T) {
	c := complete(t, Inputs{SigningCertFile: "in.crt", SigningKeyFile: "in.key", ClusterCIDR: "10.0.0.0/16", ServiceCIDR: "10.1.0.0/16,fd00::/112"},
		"--controllers=*,-podgc", "--concurrent-deployment-syncs=7", "--kube-api-qps=99", "--cluster-cidr=10.9.0.0/16",
		"--service-account-private-key-file=flag.key")
	if got := c.DeploymentController.ConcurrentDeploymentSyncs; got != 7 {
		t.Errorf("deployment workers %d", got)
	}
	if got := c.Generic.Controllers; !slices.Equal(got, []string{"*", "-pod-garbage-collector-controller"}) {
		t.Errorf("controllers %q", got)
	}
	if got := c.Generic.ClientConnection.QPS; got != 99 {
		t.Errorf("QPS %v", got)
	}
	if got := c.CSRSigningController.ClusterSigningCertFile; got != "in.crt" {
		t.Errorf("signing certificate %q: not the input", got)
	}
	if got := c.KubeCloudShared; got.ClusterCIDR != "10.9.0.0/16" || !got.AllocateNodeCIDRs {
		t.Errorf("cluster CIDR %q, allocated %v: not the flag's", got.ClusterCIDR, got.AllocateNodeCIDRs)
	}
	if got := c.NodeIPAMController; got.ServiceCIDR != "10.1.0.0/16" || got.SecondaryServiceCIDR != "fd00::/112" {
		t.Errorf("service CIDRs %q, %q", got.ServiceCIDR, got.SecondaryServiceCIDR)
	}
	if got := c.SAController.ServiceAccountKeyFile; got != "flag.key" {
		t.Errorf("service account key %q", got)
	}
	if c.Generic.Address != "" && c.Generic.Port != 0 {
		t.Errorf("a port to serve on: %s:%d", c.Generic.Address, c.Generic.Port)
	}
}

func TestDefaultsYieldToFlags(t *testing.T) {
	for _, set := range []bool{false, true} {
		o, err := NewOptions()
		if err != nil {
			t.Fatal(err)
		}
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		o.AddFlags(fs)
		if set {
			if err := fs.Parse([]string{"--kube-api-qps=5", "--controllers=job"}); err != nil {
				t.Fatal(err)
			}
		}
		o.DefaultThroughput(1000, 2000)
		o.SelectByDefault("*", "-node-lifecycle-controller")
		c, err := o.Complete(Inputs{})
		if err != nil {
			t.Fatal(err)
		}
		wantQPS, wantFirst := float32(1000), "*"
		if set {
			wantQPS, wantFirst = 5, "job-controller"
		}
		if conn := c.Generic.ClientConnection; conn.QPS != wantQPS || conn.Burst != 2000 || c.Generic.Controllers[0] != wantFirst {
			t.Errorf("flags set %v: QPS %v, burst %v, controllers %q", set, conn.QPS, conn.Burst, c.Generic.Controllers)
		}
	}
}

func TestCompleteRefuses(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"--controllers=deploymnet"}, `--controllers: unknown controller "deploymnet" (did you mean deployment?)`},
		{[]string{"--attach-detach-reconcile-sync-period=1ms"}, "check controller flags"},
	}
	for _, tt := range tests {
		o, err := NewOptions()
		if err != nil {
			t.Fatal(err)
		}
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		fs.SetOutput(io.Discard)
		o.AddFlags(fs)
		if err := fs.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		_, err = o.Complete(Inputs{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v\nwant %s", tt.args, err, tt.want)
		}
		var unknown *UnknownError
		if strings.HasPrefix(tt.want, "--controllers") && !errors.As(err, &unknown) {
			t.Errorf("%q: not an *UnknownError", tt.args)
		}
	}
}

// The release that the process emulates survives the flags, and decides which
// gates are on.
func TestEmulatedRelease(t *testing.T) {
	if !utilfeature.DefaultFeatureGate.Enabled(features.DeploymentReplicaSetTerminatingReplicas) {
		t.Fatal("the gate that this test looks at is off")
	}
	if err := emulation.Apply("1.34", nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := emulation.Apply("", nil); err != nil {
			t.Error(err)
		}
	})
	complete(t, Inputs{})
	if utilfeature.DefaultFeatureGate.Enabled(features.DeploymentReplicaSetTerminatingReplicas) {
		t.Error("1.34 has a gate of 1.35")
	}
}

func TestFeatureGates(t *testing.T) {
	tests := []struct {
		flag string
		want map[string]bool // nil is an error
	}{
		{"", map[string]bool{}},
		{"GenericWorkload=true,kube:WorkloadWithJob=false", map[string]bool{"GenericWorkload": true, "WorkloadWithJob": false}},
		{"GenericWorkload=true,WorkloadWithJob=false", map[string]bool{"GenericWorkload": true, "WorkloadWithJob": false}},
		{"kube:GenericWorkload=true", map[string]bool{"GenericWorkload": true}},
		{"wardle:GenericWorkload=true", nil},
		{"GenericWorkload=perhaps", nil},
	}
	for _, tt := range tests {
		// The value behind upstream's flag is one per process.
		gates := map[string][]string{}
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		fs.Var(cliflag.NewColonSeparatedMultimapStringStringAllowDefaultEmptyKey(&gates), "feature-gates", "")
		if err := fs.Parse([]string{"--feature-gates=" + tt.flag}); err != nil {
			if tt.want != nil {
				t.Errorf("%q: %v", tt.flag, err)
			}
			continue
		}
		got, err := (&Options{flags: fs}).FeatureGates()
		if (err != nil) != (tt.want == nil) || !maps.Equal(got, tt.want) {
			t.Errorf("%q: %v, %v", tt.flag, got, err)
		}
	}
}
