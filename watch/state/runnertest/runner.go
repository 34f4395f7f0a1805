// Package runnertest reads lines as the runners of CI systems read the output of a
// job's step. It is for tests: no line that this program prints may be a command to
// one of them because of text that is not this program's.
package runnertest

import (
	"strings"
	"unicode"
)

// commands are those that actions/runner registers. It compares names without regard
// to case.
var commands = []string{
	"internal-set-repo-path", "set-env", "set-output", "save-state", "add-mask", "add-path", "add-matcher", "remove-matcher",
	"debug", "warning", "error", "notice", "group", "endgroup", "echo", "stop-commands",
}

func registered(name string) bool {
	for _, c := range commands {
		if strings.EqualFold(c, name) {
			return true
		}
	}
	return false
}

// Command returns the first command of a step's output, and whether there is one. It
// goes by what ActionCommandManager of actions/runner does with each line: TryParseV2
// first (":: … ::", at the start after white space), TryParse after that ("##[…]",
// anywhere). Azure Pipelines ("##vso[…]") and TeamCity ("##teamcity[…]") are read
// here too.
func Command(output string) (command string, found bool) {
	for line := range strings.FieldsFuncSeq(output, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if name, ok := tryParseV2(line); ok {
			return name, true
		}
		if name, ok := tryParse(line); ok {
			return name, true
		}
		for _, prefix := range []string{"##[", "##vso[", "##teamcity["} {
			if strings.Contains(strings.ToLower(line), prefix) {
				return prefix, true
			}
		}
	}
	return "", false
}

func tryParseV2(line string) (string, bool) {
	line = strings.TrimLeftFunc(line, unicode.IsSpace)
	info, ok := strings.CutPrefix(line, "::")
	if !ok {
		return "", false
	}
	end := strings.Index(info, "::")
	if end < 0 {
		return "", false
	}
	name, _, _ := strings.Cut(info[:end], " ")
	return name, registered(name)
}

func tryParse(line string) (string, bool) {
	start := strings.Index(line, "##[")
	if start < 0 {
		return "", false
	}
	info := line[start+len("##["):]
	end := strings.IndexByte(info, ']')
	if end < 0 {
		return "", false
	}
	name, _, _ := strings.Cut(info[:end], " ")
	return name, registered(name)
}
