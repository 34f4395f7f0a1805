package engineflags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/lead"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
)

// WithRole adds to an error that rights are missing which command prints a role with them.
func (o *Options) WithRole(err error) error {
	var lacking *lead.LackingError
	if !errors.As(err, &lacking) {
		return err
	}
	return fmt.Errorf("%w: '%s' prints a role for it", err, o.RBACCommand(lacking.Mode))
}

// RBACCommand is the command that prints the role for this run.
func (o *Options) RBACCommand(mode rights.Mode) string {
	command := "rbac --mode=" + string(mode)
	if o.Scheduler {
		command += " --scheduler"
	} else {
		command += " --controllers=…"
	}
	if o.Impersonate {
		command += " --impersonate-controllers"
	}
	o.Set.Visit(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Name, "leader-elect-resource-") || f.Name == "namespace" {
			command += " --" + f.Name + "=" + f.Value.String()
		}
	})
	return command
}
