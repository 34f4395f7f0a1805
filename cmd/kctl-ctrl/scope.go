package main

// scopeOf is "in namespace shop".
func scopeOf(namespace string) string {
	if namespace == "" {
		return "in all namespaces"
	}
	return "in namespace " + namespace
}
