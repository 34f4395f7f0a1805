package explain

// Scope is "in namespace shop".
func Scope(namespace string) string {
	if namespace == "" {
		return "in all namespaces"
	}
	return "in namespace " + namespace
}
