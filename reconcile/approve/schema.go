package approve

import (
	"bytes"
	"encoding/json"
)

// Schema is the JSON schema of a policy, for editors. Parse knows more: which
// controllers and kinds there are.
func Schema() []byte {
	type object = map[string]any
	list := func(description string, items object) object {
		return object{"type": "array", "description": description, "items": items, "minItems": 1, "uniqueItems": true}
	}
	text := object{"type": "string", "minLength": 1}
	rule := object{
		"type": "object", "additionalProperties": false,
		"description": "Covers the writes that each of its fields covers.",
		"required":    []string{"controllers", "verbs", "kinds"},
		"anyOf":       []object{{"required": []string{"namespaces"}}, {"required": []string{"clusterScoped"}, "properties": object{"clusterScoped": object{"enum": []bool{true}}}}},
		"properties": object{
			"controllers":   list("Names of loops, as 'get controllers' prints them, or * for any.", text),
			"verbs":         list("What may be done, in the words of the journal.", object{"type": "string", "enum": Verbs()}),
			"kinds":         list("Types of objects, each with its status: Deployment, deployments.apps, pods/eviction; * is every type with every subresource.", text),
			"namespaces":    list("Patterns of namespaces; * is every one.", text),
			"clusterScoped": object{"type": "boolean", "description": "Covers the objects that are in no namespace, too."},
		},
	}
	schema := object{
		"$schema": "http://json-schema.org/draft-04/schema#",
		"title":   Kind, "description": "Which writes of the loops may leave without a question, and how many.",
		"type": "object", "additionalProperties": false,
		"required": []string{"apiVersion", "kind", "allow"},
		"properties": object{
			"apiVersion": object{"type": "string", "enum": []string{APIVersion}},
			"kind":       object{"type": "string", "enum": []string{Kind}},
			"allow":      object{"type": "array", "description": "A write is let out where one of these rules covers it.", "items": rule},
			"limits": object{
				"type": "object", "additionalProperties": false,
				"description": "When one of them is passed, the brake stops all writes until it is released.",
				"properties": object{
					"writesPerMinute": object{"type": "integer", "minimum": 1, "description": "Writes within any minute."},
					"deletesInTotal":  object{"type": "integer", "minimum": 0, "description": "Deletes and evictions, until the brake is released."},
				},
			},
		},
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(schema); err != nil {
		panic("approve: the schema is not JSON: " + err.Error()) // it is made of literals
	}
	return out.Bytes()
}
