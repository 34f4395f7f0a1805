package revisions

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"errors"

	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
)

// ForConfig makes a reader of histories.
func ForConfig(config *rest.Config) (*Reader, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	partial, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	return NewReader(objects, partial), nil
}

// Explain explains an error of a reader that says what was attempted.
func Explain(err error) error {
	var attempt *ReadError
	if errors.As(err, &attempt) {
		return explain.Error(attempt.Err, attempt.What)
	}
	return explain.Error(err, "read the revisions")
}
