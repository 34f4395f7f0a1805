package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
)

// describeLacks names the first rules of what the user may not do.
func describeLacks(rules []rights.Rule) string {
	var lacks []string
	for _, rule := range rules {
		by := strings.ReplaceAll(rule.NeededBy(), "; ", ", ")
		lacks = append(lacks, fmt.Sprintf("%s %s (for %s)", strings.Join(rule.Verbs, ", "), rule.What(), by))
	}
	return fewBy(lacks, "; ")
}

// rbacCommand is the command that prints the role for this run.
func (o *runOptions) rbacCommand(mode rights.Mode) string {
	command := "rbac --mode=" + string(mode)
	if o.scheduler {
		command += " --scheduler"
	} else {
		command += " --controllers=…"
	}
	if o.impersonate {
		command += " --impersonate-controllers"
	}
	o.flags.Visit(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Name, "leader-elect-resource-") || f.Name == "namespace" {
			command += " --" + f.Name + "=" + f.Value.String()
		}
	})
	return command
}
