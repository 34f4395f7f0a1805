package words

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fences   = regexp.MustCompile("(?s)```.*?```")
)

// TestLinks follows the relative links of all documents, to files and to headings.
func TestLinks(t *testing.T) {
	found := 0
	for _, file := range documents(t) {
		for _, link := range links.FindAllStringSubmatch(fences.ReplaceAllStringFunc(read(t, file), blank), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			found++
			path, heading, _ := strings.Cut(link[1], "#")
			target := file
			if path != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(file), path))
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s: %s: %v", file, link[1], err)
				continue
			}
			if heading != "" && !anchors(read(t, target))[heading] {
				t.Errorf("%s: %s: %s has no such heading", file, link[1], target)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d links were found", found)
	}
}

// anchors are the names by which the headings of a document are linked, as GitHub makes
// them.
func anchors(markdown string) map[string]bool {
	names := map[string]bool{}
	for _, heading := range headings.FindAllStringSubmatch(fences.ReplaceAllString(markdown, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
				return r
			}
			return -1
		}, strings.ToLower(heading[1]))
		names[name] = true
	}
	return names
}
