package child

import "strings"

// Environment has the way to the proxy and no other: without what leads a
// program in a pod to its API server, and past no web proxy.
func Environment(environ []string, kubeconfig string) []string {
	const loopback = "127.0.0.1"
	direct := map[string]string{"NO_PROXY": loopback, "no_proxy": loopback}
	env := make([]string, 0, len(environ)+3)
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		switch name {
		case "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT":
		case "NO_PROXY", "no_proxy":
			if value != "" && value != "*" {
				value += "," + loopback
			}
			if value != "" {
				direct[name] = value
			}
		default:
			env = append(env, variable)
		}
	}
	return append(env, "KUBECONFIG="+kubeconfig, "NO_PROXY="+direct["NO_PROXY"], "no_proxy="+direct["no_proxy"])
}
