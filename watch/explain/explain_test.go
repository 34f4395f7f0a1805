package explain

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
)

func requestError(err error) error {
	return &url.Error{Op: "Get", URL: "https://127.0.0.1:6443/apis?limit=500", Err: err}
}

func TestExplain(t *testing.T) {
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	refused := func(text string) error {
		return apierrors.NewForbidden(leases, "", errors.New(text))
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"not found": {
			apierrors.NewNotFound(leases, "leader"),
			`leases.coordination.k8s.io "leader" not found: check the name, --namespace and --context`,
		},
		"type not served": {
			&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource"}},
			"the server does not serve this type: it may be too old for it, or have it switched off: 'kubectl api-resources' lists what it serves",
		},
		"no such type": {
			&meta.NoResourceMatchError{PartialResource: schema.GroupVersionResource{Resource: "foos"}},
			"the server does not serve this type: is it too old for it, or is a CustomResourceDefinition missing? 'kubectl api-resources' lists what it serves",
		},
		"forbidden in a namespace": {
			refused(`User "jane" cannot list resource "leases" in API group "coordination.k8s.io" in the namespace "shop"`),
			`user "jane" lacks the right to list leases.coordination.k8s.io in namespace shop: ask for a role with it; 'kubectl auth can-i list leases.coordination.k8s.io --namespace shop' tells when it is there`,
		},
		"forbidden cluster-wide": {
			refused(`User "jane" cannot get resource "nodes" in API group "" at the cluster scope`),
			`user "jane" lacks the right to get nodes cluster-wide: ask for a role with it; 'kubectl auth can-i get nodes --all-namespaces' tells when it is there`,
		},
		"forbidden by somebody else": {
			refused("by policy"),
			"leases.coordination.k8s.io is forbidden: by policy: ask for a role that allows it",
		},
		"credentials": {
			apierrors.NewUnauthorized("Unauthorized"),
			"the server does not accept the credentials: they may have expired: log in again, or choose others with --context or --user",
		},
		"credential plugin": {
			requestError(errors.New("getting credentials: exec: executable aws not found")),
			"the kubeconfig's credential plugin failed: exec: executable aws not found: run it by hand, or log in again",
		},
		"client certificate": {
			requestError(errors.New("remote error: tls: expired certificate")),
			"the server does not accept the client certificate: expired certificate: it may have expired: get a new kubeconfig, or choose another with --context",
		},
		"unknown authority": {
			requestError(x509.UnknownAuthorityError{}),
			"the server's certificate is signed by an authority that the kubeconfig does not know: check that it is the right cluster, and get its kubeconfig again",
		},
		"certificate expired": {
			requestError(x509.CertificateInvalidError{Reason: x509.Expired}),
			"the server's certificate has expired, or this machine's clock is wrong: compare 'date' with the time elsewhere",
		},
		"connection refused": {
			requestError(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}),
			"nothing listens at https://127.0.0.1:6443: is the cluster running? check --context and --kubeconfig",
		},
		"unknown host": {
			requestError(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "api.example.com", IsNotFound: true}}),
			"cannot resolve host api.example.com: check --context and your network or VPN",
		},
		"timeout": {
			requestError(context.DeadlineExceeded),
			"the server at https://127.0.0.1:6443 does not answer: check --context and your network or VPN, or allow more with --request-timeout",
		},
		"proxy": {
			requestError(&net.OpError{Op: "proxyconnect", Net: "tcp", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}),
			"the proxy on the way to https://127.0.0.1:6443 cannot be reached (dial: connect: connection refused): check HTTPS_PROXY, or proxy-url in the kubeconfig; NO_PROXY names servers that need none",
		},
		"redirect": {
			requestError(&connect.RedirectedError{From: "https://127.0.0.1:6443", To: "https://login.example.com"}),
			"the server at https://127.0.0.1:6443 redirects to https://login.example.com; credentials are not sent there: correct the server's address in the kubeconfig, and check for a login page or proxy in between",
		},
		"web page": {
			errors.New("invalid character '<' looking for beginning of value"),
			"not a Kubernetes API server: it returned HTML: check the server's address in the kubeconfig, and check for a login page or proxy in between",
		},
		"web page of a webhook": {
			apierrors.NewInternalError(errors.New("failed calling webhook: invalid character '<' looking for beginning of value")),
			"Internal error occurred: failed calling webhook: invalid character '<' looking for beginning of value: the server is not healthy: retry, and check 'kubectl get --raw /readyz?verbose'",
		},
		"without words": {
			&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Code: 403, Message: "unknown"}},
			"the server answers 403 Forbidden: ask for a role that allows it",
		},
		"cut off": {
			requestError(errors.New("EOF")),
			"the server at https://127.0.0.1:6443 cannot be reached (EOF): check --context and your network or VPN",
		},
		"busy": {
			apierrors.NewTooManyRequestsError("slow down"),
			"rate-limited by the API server (429): try again in a while",
		},
		"in trouble": {
			apierrors.NewServiceUnavailable("etcd is away"),
			"etcd is away: the server is not healthy: retry, and check 'kubectl get --raw /readyz?verbose'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Whatever client-go wraps around it, the answer is the same.
			for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
				got := Error(err, "list leases")
				if want := "list leases: " + c.want; got.Error() != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
				if !errors.Is(got, c.err) {
					t.Error("the error itself is gone")
				}
				if again := Error(got, "do more"); again.Error() != got.Error() {
					t.Errorf("explained twice: %v", again)
				}
			}
		})
	}
}

func TestExplainLeavesTheRest(t *testing.T) {
	if err := Error(nil, "x"); err != nil {
		t.Error(err)
	}
	if err := Error(context.Canceled, "x"); !errors.Is(err, context.Canceled) || err.Error() != context.Canceled.Error() {
		t.Error(err)
	}
	plain := errors.New("own words")
	if err := Error(plain, "do it"); err.Error() != "do it: own words" || !errors.Is(err, plain) {
		t.Error(err)
	}
}

// A server's words are printed: they must not act on the terminal.
func TestExplainIsInert(t *testing.T) {
	err := Error(apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", errors.New("\x1b[31m\u202eevil\nline")), "get x")
	if text := err.Error(); strings.ContainsAny(text, "\x1b\u202e\n") {
		t.Errorf("%q", text)
	}
}
