package main

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/cache"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/get"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/get/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/get/informers"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/get/leases"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/get/queues"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/controllerflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/look/dryrun"
)

func newGetCommand(streams genericiooptions.IOStreams) *cobra.Command {
	return get.New(controllers.New(streams), leases.New(streams), newGetQueuesCommand(streams), newGetInformersCommand(streams))
}

func newGetQueuesCommand(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := queues.New(streams, &dryrun.Controllers{})
	cmd.ValidArgsFunction = controllerflags.CompleteQueues
	return cmd
}

func newGetInformersCommand(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := informers.New(streams, &dryrun.Controllers{})
	cmd.ValidArgsFunction = controllerflags.CompleteSeveralTypes
	return cmd
}

func newCacheCommand(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := cache.New(streams)
	cmd.ValidArgsFunction = controllerflags.CompleteCachedObject
	return cmd
}
