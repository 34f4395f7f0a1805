// Package explain says in one line why a request to a cluster failed: what was
// attempted, the reason (a right that is missing, a certificate, a name that is not
// known, a proxy, a credential plugin, a server that does not answer) and the next
// step. It reads errors and asks nothing. What client-go and the API server say in
// words alone is recognised by these words, each with the version that says it.
package explain

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Explained is an error in one line: what was attempted, why it failed, what to
// do next.
type Explained struct {
	Text string
	Err  error
}

func (e *Explained) Error() string { return e.Text }
func (e *Explained) Unwrap() error { return e.Err }

// Error puts the error of a request to a cluster into one line: what was
// attempted and on what ("list leases in namespace shop"), why it failed, and
// the next step. errors.Is and As still see the error itself. Errors that are
// no answer of a cluster, and those explained already, come back with what was
// attempted before them or as they are.
func Error(err error, what string) error {
	var done *Explained
	if err == nil || errors.As(err, &done) || errors.Is(err, context.Canceled) {
		return err
	}
	reason, next := Diagnose(err)
	if reason == "" {
		return fmt.Errorf("%s: %w", what, err)
	}
	text := what + ": " + reason
	if next != "" {
		text += ": " + next
	}
	return &Explained{Text: state.BreakCommands(state.OneLine(text)), Err: err}
}

// Diagnose says in words why a request failed and what helps. No reason means
// that the error speaks for itself.
func Diagnose(err error) (reason, next string) {
	var (
		noMatch   *meta.NoKindMatchError
		noType    *meta.NoResourceMatchError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		dns       *net.DNSError
		request   *url.Error
		proxy     *net.OpError
		sentOn    *connect.RedirectedError
	)
	switch {
	case errors.As(err, &noMatch), errors.As(err, &noType):
		return "the server does not serve this type", "is it too old for it, or is a CustomResourceDefinition missing? 'kubectl api-resources' lists what it serves"
	case strings.Contains(err.Error(), "the server doesn't have a resource type"):
		// The words of cli-runtime v0.37.1 pkg/resource/builder.go, which has no type for it.
		return err.Error(), "check the spelling; 'kubectl api-resources' lists what it serves"
	case errors.As(err, &sentOn):
		return sentOn.Error(), "correct the server's address in the kubeconfig, and check for a login page or proxy in between"
	case isWebPage(err):
		return "not a Kubernetes API server: it returned HTML", "check the server's address in the kubeconfig, and check for a login page or proxy in between"
	case apierrors.IsForbidden(err):
		if right, who := missingRight(err); right.Verb != "" {
			return who + " lacks the right to " + right.String(), "ask for a role with it; '" + right.Check() + "' tells when it is there"
		}
		return serverWords(err), "ask for a role that allows it"
	case apierrors.IsUnauthorized(err):
		return "the server does not accept the credentials", "they may have expired: log in again, or choose others with --context or --user"
	case apierrors.IsNotFound(err):
		if missingType(err) {
			return "the server does not serve this type", "it may be too old for it, or have it switched off: 'kubectl api-resources' lists what it serves"
		}
		return serverWords(err), "check the name, --namespace and --context"
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return "the resourceVersion of the list has expired", "try again"
	case apierrors.IsTooManyRequests(err):
		return "rate-limited by the API server (429)", "try again in a while"
	case apierrors.IsServiceUnavailable(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), apierrors.IsInternalError(err):
		return serverWords(err), "the server is not healthy: retry, and check 'kubectl get --raw /readyz?verbose'"
	case strings.Contains(err.Error(), "getting credentials:"):
		_, words, _ := strings.Cut(err.Error(), "getting credentials:")
		if strings.Contains(words, "not allowed: policy set to") || strings.Contains(words, "credential plugin allowlist") {
			return "the kubeconfig's credential plugin was not run:" + words, "'kubectl kuberc set --section=credentialplugin' changes what may run"
		}
		return "the kubeconfig's credential plugin failed:" + words, "run it by hand, or log in again"
	case errors.As(err, &authority):
		return "the server's certificate is signed by an authority that the kubeconfig does not know", "check that it is the right cluster, and get its kubeconfig again"
	case errors.As(err, &host):
		return "the server's certificate is for another name: " + host.Error(), "check the server's address in the kubeconfig"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate has expired, or this machine's clock is wrong", "compare 'date' with the time elsewhere"
	case strings.Contains(err.Error(), "remote error: tls:"):
		_, words, _ := strings.Cut(err.Error(), "remote error: tls:")
		return "the server does not accept the client certificate:" + words, "it may have expired: get a new kubeconfig, or choose another with --context"
	case errors.As(err, &proxy) && proxy.Op == "proxyconnect":
		return "the proxy on the way to " + address(err) + " cannot be reached (" + proxy.Err.Error() + ")", "check HTTPS_PROXY, or proxy-url in the kubeconfig; NO_PROXY names servers that need none"
	case errors.As(err, &dns):
		return "cannot resolve host " + dns.Name, "check --context and your network or VPN"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at " + address(err), "is the cluster running? check --context and --kubeconfig"
	case errors.Is(err, context.DeadlineExceeded), Timeout(err), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "the server at " + address(err) + " does not answer", "check --context and your network or VPN, or allow more with --request-timeout"
	case errors.As(err, &request):
		return "the server at " + address(err) + " cannot be reached (" + request.Err.Error() + ")", "check --context and your network or VPN"
	case errors.Is(err, fs.ErrNotExist):
		return err.Error(), "check the path"
	}
	return "", ""
}

// isWebPage reports that a page came in place of an object, in the words of client-go
// and encoding/json. Where an API server says them, they are of a webhook of its own.
func isWebPage(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "serializer for text/html doesn't exist") || strings.Contains(text, "invalid character '<' looking for beginning of value")
}

// serverWords is what the API server said, without client-go's wrapping.
func serverWords(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err.Error()
	}
	said := status.Status()
	if said.Message == "unknown" && said.Code > 0 {
		// client-go v0.37.1 says so where discovery was answered in JSON (rest/request.go).
		return fmt.Sprintf("the server answers %d %s", said.Code, http.StatusText(int(said.Code)))
	}
	return said.Message
}

// missingType tells the 404 for a path that is not served from the one for an
// object that is not there: only the latter names the object.
func missingType(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
}

// Timeout reports whether a request ran out of time.
func Timeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// address is where a failed request went: "https://127.0.0.1:6443".
func address(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		if u, err := url.Parse(request.URL); err == nil && u.Host != "" {
			return u.Scheme + "://" + u.Host
		}
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Addr != nil {
		return op.Addr.String()
	}
	return "the kubeconfig's address"
}

// Right is one permission of RBAC, in the scope in which it is missing.
type Right struct {
	Verb, Resource, group, Namespace string
}

// resourceName is the resource as kubectl and RBAC's error texts write it.
func (r Right) resourceName() string {
	if r.group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.group
}

func (r Right) String() string {
	where := "cluster-wide"
	if r.Namespace != "" {
		where = "in namespace " + r.Namespace
	}
	return r.Verb + " " + r.resourceName() + " " + where
}

// Check is the command that tells whether the right is there.
func (r Right) Check() string {
	scope := "--all-namespaces"
	if r.Namespace != "" {
		scope = "--namespace " + r.Namespace
	}
	return "kubectl auth can-i " + r.Verb + " " + r.resourceName() + " " + scope
}

// forbiddenText is the API server's wording of a refusal by its authorizers
// (k8s.io/apiserver v0.37.1 pkg/endpoints/handlers/responsewriters/errors.go).
var forbiddenText = regexp.MustCompile(`User "([^"]*)" cannot (\S+) resource "([^"]+)" in API group "([^"]*)" (?:in the namespace "([^"]*)"|at the cluster scope)`)

// missingRight reads from a refusal which right is missing, and to whom.
func missingRight(err error) (Right, string) {
	parts := forbiddenText.FindStringSubmatch(serverWords(err))
	if parts == nil {
		return Right{}, ""
	}
	return Right{Verb: parts[2], Resource: parts[3], group: parts[4], Namespace: parts[5]}, fmt.Sprintf("user %q", parts[1])
}

// Cause prefers the reason for which ctx ended to the errors that followed
// from it.
func Cause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
