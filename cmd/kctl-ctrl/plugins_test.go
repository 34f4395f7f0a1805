package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
)

// A plugin gets nothing of a terminal that shows the screen: neither its keys nor a
// place to write.
func TestPluginBehindTheScreen(t *testing.T) {
	testbed.Parallel(t)
	sb := testbed.Share(t)
	p := programtest.NewPlugged(t, sb.Endpoint().URL, sb.Endpoint().CA, sb.Endpoint().Token, "read -r key && echo \"$key\" >>"+filepath.Join(t.TempDir(), "keys")+"\n"+programtest.Answers, clientcmdapi.IfAvailableExecInteractiveMode)
	before := p.Look()
	x := onTerminalAs(t, p.Env(), 100, 30, "tui")
	x.shows("Controllers", "deployment")
	x.press(":leases<enter>").shows("Leases", "apiserver-").press("q")
	if code := x.ends(); code != exit.OK {
		t.Errorf("exit code %d", code)
	}
	if p.Times() == 0 {
		t.Error("the plugin was never run")
	}
	if strings.Contains(x.raw.String(), "CANARY") {
		t.Error("the plugin wrote on the screen")
	}
	if after := p.Look(); !reflect.DeepEqual(before, after) {
		t.Errorf("the kubeconfig was %+v, is %+v", before, after)
	}
}
