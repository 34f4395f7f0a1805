package tuibackend

import (
	"fmt"
	"os"

	"github.com/atotto/clipboard"

	"github.com/charmbracelet/x/ansi"
)

// maxClipboard bounds what is handed to a terminal, in bytes: many drop longer
// sequences, some in the middle.
const maxClipboard = 74_994

// osc52 asks the terminal to put text on its clipboard.
func osc52(terminal *os.File, text string) error {
	if len(text) > maxClipboard {
		return fmt.Errorf("%d bytes are more than terminals take (%d)", len(text), maxClipboard)
	}
	_, err := terminal.WriteString(ansi.SetSystemClipboard(text))
	return err
}

// nativeClipboard is the clipboard of this machine; nil where it has none.
func nativeClipboard() func(string) error {
	if clipboard.Unsupported {
		return nil
	}
	return clipboard.WriteAll
}
