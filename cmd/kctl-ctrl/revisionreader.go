package main

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/watch/revisions"

	"errors"

	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
)

// revisionReader makes a reader of histories.
func revisionReader(config *rest.Config) (*revisions.Reader, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	partial, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	return revisions.NewReader(objects, partial), nil
}

// explainRead explains an error of a reader that says what was attempted.
func explainRead(err error) error {
	var attempt *revisions.ReadError
	if errors.As(err, &attempt) {
		return explain.Error(attempt.Err, attempt.What)
	}
	return explain.Error(err, "read the revisions")
}
