// Package recycle empties the sandboxes that tests share. A control plane takes
// seconds of CPU to start; removing what a test has left in one takes a fraction of
// that. No program imports this package.
package recycle

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// settles bounds the wait for a control plane that has just started to create
	// what is its own, empties the wait for everything else to be gone.
	settles, empties = 30 * time.Second, 30 * time.Second
	interval         = 50 * time.Millisecond
)

// Cluster is a control plane, and what was in it before any test.
type Cluster struct {
	url, token string
	client     *http.Client
	own        map[key]string
}

// key is an object's place; its value in a listing is what may not change.
type key struct{ resource, namespace, name string }

// object is what the package looks at of any object.
type object struct {
	Metadata struct {
		Name, Namespace     string
		Labels, Annotations map[string]string
		Finalizers          []string
	}
	AggregationRule, Spec, Data, Rules, Subjects, Webhooks json.RawMessage
}

// listed is an object in a listing.
type listed struct {
	object
	resource resource
}

// resource is a type that can be listed and deleted.
type resource struct {
	name, path string
	namespaced bool
}

// New notes what there is. The caller has put nothing there yet.
func New(ctx context.Context, url string, ca []byte, token string) (*Cluster, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the authority of the sandbox is not a PEM certificate")
	}
	c := &Cluster{url: url, token: token, client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}}
	ctx, cancel := context.WithTimeout(ctx, settles)
	defer cancel()
	for {
		all, err := c.list(ctx)
		if err != nil {
			return nil, err
		}
		now := fingerprints(all)
		if c.own != nil && maps.Equal(now, c.own) {
			return c, nil
		}
		c.own = now
		if err := pause(ctx, 4*interval); err != nil {
			return nil, fmt.Errorf("the sandbox does not settle: %w", err)
		}
	}
}

// Empty deletes what was not there at New, finalizers or not. It fails where that
// does not succeed, or where something that was there is gone or has changed: such a
// cluster is of no use to another test.
func (c *Cluster) Empty(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, empties)
	defer cancel()
	clean := 0
	for {
		all, err := c.list(ctx)
		if err != nil {
			return err
		}
		var left []listed
		for k, o := range all {
			if _, own := c.own[k]; !own {
				left = append(left, o)
			}
		}
		if len(left) == 0 {
			clean++
		} else {
			clean = 0
		}
		if clean == 2 { // nothing was on its way any more
			return c.same(fingerprints(all))
		}
		slices.SortFunc(left, func(a, b listed) int { return rank(a.resource.name) - rank(b.resource.name) })
		var failed error
		for _, o := range left {
			failed = errors.Join(failed, c.remove(ctx, o))
		}
		if err := pause(ctx, interval); err != nil {
			return fmt.Errorf("%d objects are left, one of them %s %s/%s: %w", len(left), left[0].resource.name, left[0].Metadata.Namespace, left[0].Metadata.Name, errors.Join(failed, err))
		}
	}
}

// same compares what was there with what is.
func (c *Cluster) same(now map[key]string) error {
	for k, was := range c.own {
		if is, found := now[k]; !found {
			return fmt.Errorf("%s %s/%s is gone", k.resource, k.namespace, k.name)
		} else if is != was {
			return fmt.Errorf("%s %s/%s has changed: it was %s, is %s", k.resource, k.namespace, k.name, was, is)
		}
	}
	return nil
}

// rank orders deletions: first what may refuse the others, last what holds them.
func rank(resource string) int {
	switch resource {
	case "validatingwebhookconfigurations", "mutatingwebhookconfigurations", "validatingadmissionpolicybindings", "mutatingadmissionpolicybindings":
		return 0
	case "validatingadmissionpolicies", "mutatingadmissionpolicies", "apiservices":
		return 1
	case "namespaces":
		return 4
	case "customresourcedefinitions":
		return 3
	}
	return 2
}

// remove deletes an object, whoever holds it.
func (c *Cluster) remove(ctx context.Context, o listed) error {
	path := c.url + o.resource.path
	if o.resource.namespaced {
		before, after := cutLast(o.resource.path)
		path = c.url + before + "/namespaces/" + o.Metadata.Namespace + "/" + after
	}
	path += "/" + o.Metadata.Name
	var errs []error
	if len(o.Metadata.Finalizers) > 0 && o.resource.name != "customresourcedefinitions" {
		errs = append(errs, c.send(ctx, http.MethodPatch, path, `{"metadata":{"finalizers":null}}`, nil))
	}
	errs = append(errs, c.send(ctx, http.MethodDelete, path, `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"propagationPolicy":"Background"}`, nil))
	if o.resource.name == "namespaces" { // no controller need be there to do it
		errs = append(errs, c.send(ctx, http.MethodPut, path+"/finalize", fmt.Sprintf(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q},"spec":{}}`, o.Metadata.Name), nil))
	}
	return errors.Join(errs...)
}

func cutLast(path string) (before, after string) {
	i := strings.LastIndexByte(path, '/')
	return path[:i], path[i+1:]
}

// list reads all objects of all types.
func (c *Cluster) list(ctx context.Context) (map[key]listed, error) {
	resources, err := c.resources(ctx)
	if err != nil {
		return nil, err
	}
	all := map[key]listed{}
	for _, r := range resources {
		var list struct{ Items []object }
		if err := c.send(ctx, http.MethodGet, c.url+r.path, "", &list); err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			all[key{r.path, o.Metadata.Namespace, o.Metadata.Name}] = listed{o, r}
		}
	}
	return all, nil
}

// resources are what the API server serves now, each in its preferred version. An
// extension API server is not asked: the sandbox has none that lives.
func (c *Cluster) resources(ctx context.Context) ([]resource, error) {
	var out []resource
	seen := map[string]bool{}
	for _, root := range []string{"/api", "/apis"} {
		var found struct {
			Items []struct {
				Metadata struct{ Name string }
				Versions []struct {
					Version, Freshness string
					Resources          []struct {
						Resource, Scope string
						Verbs           []string
					}
				}
			}
		}
		if err := c.send(ctx, http.MethodGet, c.url+root, "", &found); err != nil {
			return nil, err
		}
		for _, group := range found.Items {
			for _, version := range group.Versions {
				for _, r := range version.Resources {
					id := group.Metadata.Name + "/" + r.Resource
					if version.Freshness == "Stale" || seen[id] || group.Metadata.Name == "events.k8s.io" || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") {
						continue
					}
					seen[id] = true
					path := root + "/" + version.Version + "/" + r.Resource
					if group.Metadata.Name != "" {
						path = root + "/" + group.Metadata.Name + "/" + version.Version + "/" + r.Resource
					}
					out = append(out, resource{name: r.Resource, path: path, namespaced: r.Scope == "Namespaced"})
				}
			}
		}
	}
	return out, nil
}

// fingerprints are of what a test could change for the next one. What a control plane
// goes on writing by itself is left out: status, leases, Events, Endpoints, and the
// rules of aggregated roles.
func fingerprints(all map[key]listed) map[key]string {
	out := map[key]string{}
	for k, o := range all {
		switch o.resource.name {
		case "leases", "endpoints", "endpointslices":
			out[k] = ""
		case "events":
		default:
			rules := o.Rules
			if len(o.AggregationRule) > 0 {
				rules = nil
			}
			text, err := json.Marshal([]any{o.Metadata.Labels, o.Metadata.Annotations, o.Metadata.Finalizers, o.Spec, o.Data, rules, o.Subjects, o.Webhooks})
			out[k] = fmt.Sprint(string(text), err)
		}
	}
	return out
}

// send sends one request. Not found and conflict are no failures: whoever was faster
// has done it, or the next round does.
func (c *Cluster) send(ctx context.Context, method, url, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("User-Agent", "recycle")
	request.Header.Set("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json")
	switch method {
	case http.MethodPatch:
		request.Header.Set("Content-Type", "application/merge-patch+json")
	case http.MethodPut, http.MethodDelete:
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, request.URL.Path, err)
	case answer.StatusCode == http.StatusNotFound, answer.StatusCode == http.StatusConflict:
		return nil
	case answer.StatusCode >= 300:
		return fmt.Errorf("%s %s: %s: %s", method, request.URL.Path, answer.Status, text)
	case into == nil:
		return nil
	}
	return json.Unmarshal(text, into)
}

// pause waits for the next look.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
