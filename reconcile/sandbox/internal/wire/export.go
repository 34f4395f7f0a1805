package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
)

// exported is a kubeconfig of the sandbox outside its run directory. It is of no use
// without the sandbox, and goes with the run directory, whoever removes that, so long
// as it is as it was written.
type exported struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// maxKubeconfig bounds what is read to compare it with what was written.
const maxKubeconfig = 1 << 20

// Export gives the content of ExportedFile for a kubeconfig at an absolute path.
func Export(path string, content []byte) []byte {
	sum := sha256.Sum256(content)
	text, _ := json.Marshal(exported{path, hex.EncodeToString(sum[:])}) // cannot fail: plain data
	return text
}

// removeExported removes the kubeconfig that ExportedFile of a run directory names.
func removeExported(dir string) {
	text, err := os.ReadFile(filepath.Join(dir, ExportedFile))
	if err != nil {
		return
	}
	var e exported
	if json.Unmarshal(text, &e) != nil || !filepath.IsAbs(e.Path) {
		return
	}
	info, err := os.Lstat(e.Path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxKubeconfig {
		return
	}
	now, err := os.ReadFile(e.Path)
	if err != nil {
		return
	}
	if sum := sha256.Sum256(now); hex.EncodeToString(sum[:]) == e.SHA256 {
		_ = os.Remove(e.Path)
	}
}
