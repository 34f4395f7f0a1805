package controllers

import (
	"slices"
	"testing"

	nodeipamconfig "k8s.io/kubernetes/pkg/controller/nodeipam/config"
)

func TestNodeMaskSizes(t *testing.T) {
	tests := []struct {
		cluster        string
		common, v4, v6 int32
		want           []int // nil is an error
	}{
		{cluster: "10.0.0.0/16", want: []int{24}},
		{cluster: "fd00::/48", want: []int{64}},
		{cluster: "10.0.0.0/16,fd00::/48", want: []int{24, 64}},
		{cluster: "fd00::/48,10.0.0.0/16", v4: 26, want: []int{64, 26}},
		{cluster: "10.0.0.0/16", common: 25, want: []int{25}},
		{cluster: "10.0.0.0/16", v4: 25, want: []int{25}},
		{cluster: "fd00::/48", v6: 60, want: []int{60}},
		{cluster: "10.0.0.0/16", v6: 60},
		{cluster: "fd00::/48", v4: 25},
		{cluster: "10.0.0.0/16", common: 25, v4: 25},
		{cluster: "10.0.0.0/16,fd00::/48", common: 25},
		{cluster: "10.0.0.0/16,10.1.0.0/16"},
		{cluster: "10.0.0.0/16,fd00::/48,10.1.0.0/16"},
		{cluster: "ten"},
	}
	for _, tt := range tests {
		var got []int
		cidrs, err := clusterCIDRs(tt.cluster)
		if err == nil {
			got, err = nodeMaskSizes(nodeipamconfig.NodeIPAMControllerConfiguration{
				NodeCIDRMaskSize: tt.common, NodeCIDRMaskSizeIPv4: tt.v4, NodeCIDRMaskSizeIPv6: tt.v6,
			}, cidrs)
		}
		if (err != nil) != (tt.want == nil) || !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %v, %v", tt, got, err)
		}
	}
}

func TestServiceCIDRs(t *testing.T) {
	tests := []struct {
		first, second string
		ok            bool
	}{
		{"", "", true},
		{"10.1.0.0/16", "", true},
		{"10.1.0.0/16", "fd01::/112", true},
		{"10.1.0.0/16", "10.2.0.0/16", false},
		{"ten", "", false},
		{"10.1.0.0/16", "ten", false},
	}
	for _, tt := range tests {
		_, _, err := serviceCIDRs(nodeipamconfig.NodeIPAMControllerConfiguration{ServiceCIDR: tt.first, SecondaryServiceCIDR: tt.second})
		if (err == nil) != tt.ok {
			t.Errorf("%q, %q: %v", tt.first, tt.second, err)
		}
	}
}
