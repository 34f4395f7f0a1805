package controllers

import (
	"errors"
	"fmt"
	"net"
	"strings"

	nodeipamconfig "k8s.io/kubernetes/pkg/controller/nodeipam/config"
	netutils "k8s.io/utils/net"
)

// Sizes of a node's range where no flag says otherwise.
const (
	nodeMaskSizeIPv4 = 24
	nodeMaskSizeIPv6 = 64
)

// clusterCIDRs parses --cluster-cidr: one range, or one of each IP family.
func clusterCIDRs(list string) ([]*net.IPNet, error) {
	cidrs, err := netutils.ParseCIDRs(strings.Split(strings.TrimSpace(list), ","))
	if err != nil {
		return nil, fmt.Errorf("parse --cluster-cidr %q: %w", list, err)
	}
	if len(cidrs) == 1 {
		return cidrs, nil
	}
	if dual, err := netutils.IsDualStackCIDRs(cidrs); err != nil || !dual || len(cidrs) > 2 {
		return nil, fmt.Errorf("--cluster-cidr %q: want one range, or one of each IP family", list)
	}
	return cidrs, nil
}

// serviceCIDRs parses --service-cluster-ip-range; both results may be nil. The
// node ranges keep clear of them.
func serviceCIDRs(conf nodeipamconfig.NodeIPAMControllerConfiguration) (first, second *net.IPNet, err error) {
	parse := func(s string) (*net.IPNet, error) {
		if s = strings.TrimSpace(s); s == "" {
			return nil, nil
		}
		_, cidr, err := netutils.ParseCIDRSloppy(s)
		if err != nil {
			return nil, fmt.Errorf("parse --service-cluster-ip-range %q: %w", s, err)
		}
		return cidr, nil
	}
	if first, err = parse(conf.ServiceCIDR); err != nil {
		return nil, nil, err
	}
	if second, err = parse(conf.SecondaryServiceCIDR); err != nil {
		return nil, nil, err
	}
	if first != nil && second != nil && netutils.IsIPv6CIDR(first) == netutils.IsIPv6CIDR(second) {
		return nil, nil, errors.New("--service-cluster-ip-range: want one range, or one of each IP family")
	}
	return first, second, nil
}

// nodeMaskSizes returns the size of a node's range for each cluster range, by
// upstream's rules: --node-cidr-mask-size is for one range only and excludes
// the two flags that name a family; those must name a family that is there.
func nodeMaskSizes(conf nodeipamconfig.NodeIPAMControllerConfiguration, cluster []*net.IPNet) ([]int, error) {
	dual := len(cluster) > 1
	common, v4, v6 := int(conf.NodeCIDRMaskSize), int(conf.NodeCIDRMaskSizeIPv4), int(conf.NodeCIDRMaskSizeIPv6)
	switch {
	case common != 0 && dual:
		return nil, errors.New("--node-cidr-mask-size cannot serve two IP families: use --node-cidr-mask-size-ipv4 and -ipv6")
	case common != 0 && (v4 != 0 || v6 != 0):
		return nil, errors.New("--node-cidr-mask-size excludes --node-cidr-mask-size-ipv4 and -ipv6")
	case !dual && v4 != 0 && netutils.IsIPv6CIDR(cluster[0]):
		return nil, errors.New("--node-cidr-mask-size-ipv4 is set but --cluster-cidr has no IPv4 range")
	case !dual && v6 != 0 && !netutils.IsIPv6CIDR(cluster[0]):
		return nil, errors.New("--node-cidr-mask-size-ipv6 is set but --cluster-cidr has no IPv6 range")
	}
	pick := func(sizes ...int) int {
		for _, n := range sizes {
			if n != 0 {
				return n
			}
		}
		return 0
	}
	masks := make([]int, len(cluster))
	for i, cidr := range cluster {
		if netutils.IsIPv6CIDR(cidr) {
			masks[i] = pick(common, v6, nodeMaskSizeIPv6)
		} else {
			masks[i] = pick(common, v4, nodeMaskSizeIPv4)
		}
	}
	return masks, nil
}
