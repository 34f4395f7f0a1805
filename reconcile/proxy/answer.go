package proxy

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
)

const mediaJSON = "application/json"

// answerWith writes an error as the API server would.
func answerWith(w http.ResponseWriter, err *apierrors.StatusError) {
	body, _ := json.Marshal(statusOf(err)) // cannot fail: plain data
	w.Header().Set("Content-Type", mediaJSON)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(int(err.ErrStatus.Code))
	_, _ = w.Write(body)
}

func statusOf(err *apierrors.StatusError) metav1.Status {
	status := err.ErrStatus
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return status
}

func respondError(req *http.Request, err *apierrors.StatusError) (*http.Response, error) {
	return guard.Respond(req, int(err.ErrStatus.Code), statusOf(err))
}

// ContextName is the name of the context in the kubeconfig.
const ContextName = "kctl-ctrl-exec"

// kubeconfig is JSON inside YAML where a value is not of our making.
func kubeconfig(ep Endpoint, namespace string) []byte {
	quoted, _ := json.Marshal(namespace) // cannot fail: a string
	return fmt.Appendf(nil, `# kctl-ctrl exec: kubeconfig for its proxy, valid while it runs
apiVersion: v1
kind: Config
current-context: %[1]s
clusters:
- name: %[1]s
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
contexts:
- name: %[1]s
  context:
    cluster: %[1]s
    user: %[1]s
    namespace: %[5]s
users:
- name: %[1]s
  user:
    token: %[4]s
`, ContextName, ep.URL, base64.StdEncoding.EncodeToString(ep.CA), ep.Token, quoted)
}
