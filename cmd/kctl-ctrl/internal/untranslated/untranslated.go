// Package untranslated keeps kubectl's packages from loading kubectl's translations.
//
// Packages of kubectl translate the help of their commands while they are initialised,
// whoever imports them, and unpack all translations for that: a quarter of the CPU that a
// start of this program takes, for help that it does not have. Go initialises packages
// in the order of their paths, each after those that it imports: this one directly after
// the one that translates, and before those of kubectl that call it.
package untranslated

import "k8s.io/kubectl/pkg/util/i18n"

// asked is set when kubectl wants its translations.
var asked bool

func init() {
	// It fails where they were loaded before, which costs time and nothing else.
	_ = i18n.SetLoadTranslationsFunc(func() error {
		asked = true
		return nil
	})
}
