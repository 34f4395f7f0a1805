package approve

import (
	"bytes"
	"encoding/json"
)

// Schema is the JSON schema of a policy, for editors. Parse checks more: which
// controllers and kinds exist.
func Schema() []byte {
	type object = map[string]any
	list := func(description string, items object) object {
		return object{"type": "array", "description": description, "items": items, "minItems": 1, "uniqueItems": true}
	}
	text := object{"type": "string", "minLength": 1}
	rule := object{
		"type": "object", "additionalProperties": false,
		"description": "A rule matches writes that match all of its fields.",
		"required":    []string{"controllers", "verbs", "kinds"},
		"anyOf":       []object{{"required": []string{"namespaces"}}, {"required": []string{"clusterScoped"}, "properties": object{"clusterScoped": object{"enum": []bool{true}}}}},
		"properties": object{
			"controllers":   list("Names of controllers, as printed by 'get controllers', or * for all.", text),
			"verbs":         list("Verbs of the writes, as shown in the journal.", object{"type": "string", "enum": Verbs()}),
			"kinds":         list("Types of objects, including their status: Deployment, deployments.apps, pods/eviction; * is every type with every subresource.", text),
			"namespaces":    list("Namespace patterns; * matches all.", text),
			"clusterScoped": object{"type": "boolean", "description": "Also matches cluster-scoped objects."},
		},
	}
	schema := object{
		"$schema": "http://json-schema.org/draft-04/schema#",
		"title":   Kind, "description": "The writes of controllers that are sent without approval, and their limits.",
		"type": "object", "additionalProperties": false,
		"required": []string{"apiVersion", "kind", "allow"},
		"properties": object{
			"apiVersion": object{"type": "string", "enum": []string{APIVersion}},
			"kind":       object{"type": "string", "enum": []string{Kind}},
			"allow":      object{"type": "array", "description": "A write is allowed if one of these rules matches it.", "items": rule},
			"limits": object{
				"type": "object", "additionalProperties": false,
				"description": "When a limit is reached, the circuit breaker holds all writes until it is released.",
				"properties": object{
					"writesPerMinute": object{"type": "integer", "minimum": 1, "description": "Maximum number of writes within one minute."},
					"deletesInTotal":  object{"type": "integer", "minimum": 0, "description": "Maximum number of deletes and evictions until the circuit breaker is released."},
				},
			},
		},
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(schema); err != nil {
		panic("approve: encode the schema: " + err.Error()) // it consists of literals
	}
	return out.Bytes()
}
