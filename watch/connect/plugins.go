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

// restrictPlugin applies the policy of the user's kuberc to a config's credential
// plugin, as kubectl does: credentialPluginPolicy and credentialPluginAllowlist specify
// which programs a kubeconfig may run. If a kuberc is unreadable, kubectl only warns;
// here it is an error, because it may forbid the plugin.
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
