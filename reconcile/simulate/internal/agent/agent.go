// Package agent derives the clients of the simulated parts of a cluster.
package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Client returns a clientset for a copy of base with the user agent "kctl-ctrl/<name>".
// It has no client-side rate limit: base is for a control plane of our own, and a
// simulated kubelet must not queue behind five requests a second.
func Client(base *rest.Config, name string) (kubernetes.Interface, error) {
	if base == nil {
		return nil, fmt.Errorf("no client configuration for %s", name)
	}
	free := rest.CopyConfig(base)
	free.QPS, free.Burst = -1, 0
	return Limited(free, name)
}

// Limited is Client with the rate limits of base, which this clientset does not share.
func Limited(base *rest.Config, name string) (kubernetes.Interface, error) {
	if base == nil {
		return nil, fmt.Errorf("no client configuration for %s", name)
	}
	config := rest.CopyConfig(base)
	config.UserAgent = "kctl-ctrl/" + name
	config.RateLimiter = nil         // one in base would be one for all
	config.DisableCompression = true // of answers that come over loopback
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for %s: %w", name, err)
	}
	return client, nil
}

// startGrace is how long a server may reject a request because it is starting.
const startGrace = 15 * time.Second

// Eventually calls f until it succeeds. Errors of a starting server (it does not
// respond, its roles or namespaces do not exist yet) are retried for 15 seconds; any
// other error ends it immediately.
func Eventually(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startGrace)
	defer cancel()
	delay := 10 * time.Millisecond
	for {
		err := f()
		if err == nil || !starting(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(delay):
		}
		delay = min(2*delay, 200*time.Millisecond)
	}
}

func starting(err error) bool {
	if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		var status apierrors.APIStatus
		return !errors.As(err, &status) // not a response of the server
	}
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInternalError(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}
