package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/lead"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
)

// withRole adds to an error that rights are missing which command prints a role with them.
func (o *runOptions) withRole(err error) error {
	var lacking *lead.LackingError
	if !errors.As(err, &lacking) {
		return err
	}
	return fmt.Errorf("%w: '%s' prints a role for it", err, o.rbacCommand(lacking.Mode))
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
