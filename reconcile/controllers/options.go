package controllers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	componentoptions "k8s.io/component-base/config/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"
)

// Options are the flags of kube-controller-manager that concern its loops, with
// upstream's names, types and defaults.
type Options struct {
	upstream *options.KubeControllerManagerOptions
	flags    *pflag.FlagSet
	untapped untapped
}

// Inputs are what the loops need of a cluster beside its API. Each is used where
// the flag of the same meaning is not set; empty fields leave the loops that
// need them off.
type Inputs struct {
	// SigningCertFile and SigningKeyFile are the PEM pair that signs
	// certificates.
	SigningCertFile, SigningKeyFile string
	// ServiceAccountKeyFile is the PEM private key that signs service account
	// tokens.
	ServiceAccountKeyFile string
	// ClusterCIDR, where it is set, lets nodes have pod address ranges.
	ClusterCIDR string
	// ServiceCIDR is the range, or ranges with a comma between, that node
	// ranges keep clear of.
	ServiceCIDR string
}

// NewOptions returns upstream's defaults.
func NewOptions() (*Options, error) {
	up, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("read kube-controller-manager's defaults: %w", err)
	}
	// ApplyTo would open the secure port.
	up.SecureServing.BindPort = 0
	return &Options{upstream: up}, nil
}

// withheld are kube-controller-manager's flags that AddFlags leaves out, by
// section or by name, with the reason.
func withheld() (sections, flags map[string]string) {
	const (
		connect   = "the kubeconfig flags of kubectl say which cluster"
		election  = "AddElectionFlags has them"
		host      = "no volume plugin that acts on this machine is built in"
		cloud     = "no cloud provider is built in"
		obsolete  = "upstream ignores it or has deprecated it"
		elsewhere = "kctl-ctrl has a flag of its own for it"
	)
	sections = map[string]string{
		"secure serving":   "kctl-ctrl serves no secure port",
		"authentication":   "kctl-ctrl serves no secure port",
		"authorization":    "kctl-ctrl serves no secure port",
		"debugging":        "kctl-ctrl serves no secure port",
		"metrics":          "kctl-ctrl serves metrics as they are",
		"logs":             "kctl-ctrl writes the controllers' log itself",
		"leader-migration": cloud,
		"deprecated":       obsolete,
		"misc":             connect,
	}
	flags = map[string]string{
		"leader-elect":                    election,
		"leader-elect-lease-duration":     election,
		"leader-elect-renew-deadline":     election,
		"leader-elect-resource-lock":      election,
		"leader-elect-resource-name":      election,
		"leader-elect-resource-namespace": election,
		"leader-elect-retry-period":       election,

		"pv-recycler-increment-timeout-nfs":          host,
		"pv-recycler-minimum-timeout-hostpath":       host,
		"pv-recycler-minimum-timeout-nfs":            host,
		"pv-recycler-pod-template-filepath-hostpath": host,
		"pv-recycler-pod-template-filepath-nfs":      host,
		"pv-recycler-timeout-increment-hostpath":     host,
		"enable-hostpath-provisioner":                host,
		"flex-volume-plugin-dir":                     host,

		"cloud-provider":               cloud,
		"cloud-config":                 cloud,
		"external-cloud-volume-plugin": cloud,
		"route-reconciliation-period":  cloud,
		"cluster-name":                 cloud,
		"configure-cloud-routes":       cloud,
		"cidr-allocator-type":          cloud,
		"allow-untagged-cloud":         obsolete,
		"node-sync-period":             obsolete,

		"use-service-account-credentials": "upstream mints service account tokens for it; --impersonate-controllers makes the controllers act as the same accounts",
		"controller-shutdown-timeout":     elsewhere,
		"emulated-version":                elsewhere,
		"min-compatibility-version":       "it concerns the API server",
	}
	return sections, flags
}

// AddFlags registers the flags on fs and remembers fs for DefaultThroughput.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.flags = fs
	known, off, aliases := nameLists()
	skipSections, skipFlags := withheld()
	all := o.upstream.Flags(known, off, aliases)
	for _, section := range all.Order {
		if _, skip := skipSections[section]; skip {
			continue
		}
		all.FlagSets[section].VisitAll(func(f *pflag.Flag) {
			if _, skip := skipFlags[f.Name]; !skip {
				fs.AddFlag(f)
			}
		})
	}
}

// AddElectionFlags registers the flags of the election for
// kube-controller-manager's lease on fs, hidden.
func (o *Options) AddElectionFlags(fs *pflag.FlagSet) {
	elections := pflag.NewFlagSet("leader election", pflag.ContinueOnError)
	componentoptions.BindLeaderElectionFlags(&o.upstream.Generic.LeaderElection, elections)
	elections.VisitAll(func(f *pflag.Flag) {
		f.Hidden = true
		fs.AddFlag(f)
	})
}

// DefaultThroughput sets each controller's requests per second and burst,
// except where the user has set --kube-api-qps or --kube-api-burst. Upstream's
// default, 20 and 30, is polite to a cluster and slow on a sandbox. Negative is
// unlimited.
func (o *Options) DefaultThroughput(qps float32, burst int) {
	conn := &o.upstream.Generic.ClientConnection
	if o.flags == nil || !o.flags.Changed("kube-api-qps") {
		conn.QPS = qps
	}
	if o.flags == nil || !o.flags.Changed("kube-api-burst") {
		conn.Burst = int32(burst)
	}
}

// SelectByDefault sets --controllers, in its syntax, unless the user has.
func (o *Options) SelectByDefault(list ...string) {
	if o.flags == nil || !o.flags.Changed("controllers") {
		o.upstream.Generic.Controllers = list
	}
}

// Selected reports whether --controllers selects a controller, by its full name.
// Whether it can start is another matter.
func (o *Options) Selected(name string) (bool, error) {
	selected, err := choose(Descriptors(), o.upstream.Generic.Controllers)
	if err != nil {
		return false, fmt.Errorf("--controllers: %w", err)
	}
	return selected[name], nil
}

// Complete sets the feature gates of this process from the flags, checks all
// flags by upstream's rules and returns the configuration of the loops. The
// release that the process emulates stays what it is. A name
// in --controllers that is no controller's gives an *UnknownError. Call it once;
// after an error about feature gates those of the process are in doubt.
func (o *Options) Complete(in Inputs) (*kubectrlmgrconfig.KubeControllerManagerConfiguration, error) {
	descriptors := Descriptors()
	if _, err := choose(descriptors, o.upstream.Generic.Controllers); err != nil {
		return nil, fmt.Errorf("--controllers: %w", err)
	}
	o.apply(in)
	if err := o.upstream.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("set feature gates: %w", err)
	}
	known, off, aliases := nameLists()
	if err := o.upstream.Validate(known, off, aliases); err != nil {
		return nil, fmt.Errorf("check controller flags: %w", err)
	}
	var c config.Config
	if err := o.upstream.ApplyTo(&c, known, off, aliases); err != nil {
		return nil, fmt.Errorf("apply controller flags: %w", err)
	}
	return &c.ComponentConfig, nil
}

// FeatureGates returns what --feature-gates says, for an API server that is to
// have the same gates.
func (o *Options) FeatureGates() (map[string]bool, error) {
	gates := map[string]bool{}
	if o.flags == nil {
		return gates, nil
	}
	flag, ok := o.flags.Lookup("feature-gates").Value.(*cliflag.ColonSeparatedMultimapStringString)
	if !ok || flag.Multimap == nil {
		return gates, nil
	}
	for component, settings := range *flag.Multimap {
		if component != "" && component != basecompatibility.DefaultKubeComponent {
			return nil, fmt.Errorf("--feature-gates: unknown component %q", component)
		}
		for _, setting := range settings {
			name, value, _ := strings.Cut(setting, "=")
			on, err := strconv.ParseBool(value)
			if err != nil {
				return nil, fmt.Errorf("--feature-gates: %q: want NAME=true or NAME=false", setting)
			}
			gates[strings.TrimSpace(name)] = on
		}
	}
	return gates, nil
}

// apply fills what no flag has set.
func (o *Options) apply(in Inputs) {
	up := o.upstream
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	if csr := up.CSRSigningController.CSRSigningControllerConfiguration; len(signers(*csr)) == 0 {
		set(&csr.ClusterSigningCertFile, in.SigningCertFile)
		set(&csr.ClusterSigningKeyFile, in.SigningKeyFile)
	}
	set(&up.SAController.ServiceAccountKeyFile, in.ServiceAccountKeyFile)
	set(&up.NodeIPAMController.ServiceCIDR, in.ServiceCIDR)
	if in.ClusterCIDR != "" && (o.flags == nil || !o.flags.Changed("allocate-node-cidrs")) {
		up.KubeCloudShared.AllocateNodeCIDRs = true
	}
	set(&up.KubeCloudShared.ClusterCIDR, in.ClusterCIDR)
}

// nameLists are what upstream's option types want to know of the controllers.
func nameLists() (known, offByDefault []string, aliases map[string]string) {
	aliases = map[string]string{}
	for _, d := range Descriptors() {
		known = append(known, d.Name)
		if d.OffByDefault {
			offByDefault = append(offByDefault, d.Name)
		}
		for _, a := range d.Aliases {
			aliases[a] = d.Name
		}
	}
	slices.Sort(known)
	return known, offByDefault, aliases
}
