package connect

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/plugin/pkg/client/auth/exec"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubectl/pkg/kuberc"
)

// restrictPlugin gives a config's credential plugin the policy of the user's kuberc,
// as kubectl does: credentialPluginPolicy and credentialPluginAllowlist say which
// programs a kubeconfig may have run. Where kubectl only warns of a kuberc that it
// cannot read, this is an error: it may forbid what would be run.
func restrictPlugin(config *rest.Config) error {
	if config.ExecProvider == nil {
		return nil
	}
	var warned strings.Builder
	preference, err := kuberc.DefaultGetPreferences("", &warned)
	if err == nil && preference == nil && warned.Len() > 0 {
		err = errors.New(warned.String())
	}
	if err != nil {
		return fmt.Errorf("read the credential plugin policy: %w: correct the file, or set KUBERC=off to allow all plugins", err)
	}
	if preference == nil {
		return nil
	}
	policy := clientcmdapi.PluginPolicy{PolicyType: clientcmdapi.PolicyType(preference.CredentialPluginPolicy)}
	for _, entry := range preference.CredentialPluginAllowlist {
		policy.Allowlist = append(policy.Allowlist, clientcmdapi.AllowlistEntry(entry))
	}
	if err := exec.ValidatePluginPolicy(policy); err != nil {
		return fmt.Errorf("read the credential plugin policy: kuberc: %w", err)
	}
	config.ExecProvider.PluginPolicy = policy
	return nil
}
