// Package controllers is the command that lists the controllers of this program, or those
// of a recording.
package controllers

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/recorded"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// controllerList is what `get controllers` prints for programs.
type controllerList struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Items      []controllers.Info `json:"items"`
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	var from recorded.Flags
	printer := printing.New()
	cmd := &cobra.Command{
		Use:     "controllers [NAME...]",
		Aliases: []string{"controller"},
		Short:   "List the embedded control loops",
		Long: `List the control loops of kube-controller-manager that are built into this
program, whether they run by default, and what they read. It needs no cluster.

With --from it lists those of a recording instead: whether each ran, and what it
had done by the end or by the time that --at names.

Names are upstream's, long or short: "deployment" is "deployment-controller".`,
		Example: `  kctl-ctrl get controllers
  kctl-ctrl get controllers garbagecollector -o yaml`,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := printer.Complete(streams.Out); err != nil {
				return err
			}
			if err := from.Check(); err != nil {
				return err
			}
			if from.Given() {
				return from.Controllers(streams, printer, args)
			}
			infos, err := controllers.List()
			if err != nil {
				return err
			}
			if infos, err = pick(infos, args); err != nil {
				return err
			}
			return printer.Print(streams.Out, printing.Found{
				Document: func() any {
					return controllerList{APIVersion: about.APIVersion, Kind: "ControllerList", Items: infos}
				},
				Names: func() []string {
					names := make([]string, len(infos))
					for i, info := range infos {
						names[i] = "controller/" + info.Name
					}
					return names
				},
				Table: func(wide bool) render.Table { return controllerTable(infos, wide) },
			})
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			infos, err := controllers.List()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			var names []string
			for _, info := range infos {
				names = append(names, info.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	printer.AddFlags(cmd)
	from.AddTo(cmd)
	return cmd
}

// pick keeps the controllers named, by name or alias; all where none is.
func pick(infos []controllers.Info, names []string) ([]controllers.Info, error) {
	if len(names) == 0 {
		return infos, nil
	}
	byName := map[string]controllers.Info{}
	for _, info := range infos {
		byName[info.Name] = info
		for _, alias := range info.Aliases {
			byName[alias] = info
		}
	}
	var picked []controllers.Info
	for _, name := range names {
		info, known := byName[strings.TrimPrefix(name, "controller/")]
		if !known {
			return nil, fmt.Errorf("no controller %q: 'get controllers' lists them", name)
		}
		picked = append(picked, info)
	}
	return picked, nil
}

func controllerTable(infos []controllers.Info, wide bool) render.Table {
	table := render.Table{Columns: []render.Column{{Title: "NAME"}, {Title: "ALIASES"}, {Title: "DEFAULT"}, {Title: "WORKERS", Right: true}, {Title: "QUEUES"}}}
	if wide {
		table.Columns = append(table.Columns, render.Column{Title: "NAMESPACED"}, render.Column{Title: "INFORMERS"}, render.Column{Title: "DOES"})
	}
	table.Columns = append(table.Columns, render.Column{Title: "WHY"})
	for _, info := range infos {
		state := "on"
		if !info.OnByDefault {
			state = "off"
		}
		row := []string{info.Name, render.OrNone(strings.Join(info.Aliases, ",")), state, strconv.Itoa(info.Workers), render.OrNone(strings.Join(info.Queues, ","))}
		if wide {
			safe := "no"
			if info.NamespaceSafe {
				safe = "yes"
			}
			row = append(row, safe, render.OrNone(strings.Join(info.Informers, ",")), info.Does)
		}
		table.Rows = append(table.Rows, append(row, info.Why))
	}
	return table
}
