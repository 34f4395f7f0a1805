package state

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// The words that name a recording's format. The number in the version changes when a
// reader of the old format would misread the new one; what follows it ("alpha1") does
// not matter to a reader: it counts the events that it does not know.
const (
	RecordingAPIVersion = "kctl-ctrl.dev/v1alpha1"
	RecordingKind       = "Recording"
)

// maxLine bounds one line of a recording, in bytes.
const maxLine = 16 << 20

// Header is the first line of a recording.
type Header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Version is that of the program that wrote it.
	Version string `json:"version,omitempty"`
	// Started is when the recording began, which the session may have done
	// before.
	Started time.Time `json:"started,omitzero"`
	// Context and Mode are the session's, as far as they were known then.
	Context string `json:"context,omitempty"`
	Mode    Mode   `json:"mode,omitempty"`
}

// Encoder writes a recording: JSON Lines, a Header first.
type Encoder struct {
	w      io.Writer
	header *Header
}

// NewEncoder makes an Encoder that writes its header before the first entry.
// APIVersion and Kind of the header are filled in.
func NewEncoder(w io.Writer, h Header) *Encoder {
	h.APIVersion, h.Kind = RecordingAPIVersion, RecordingKind
	h.Started = h.Started.UTC()
	return &Encoder{w: w, header: &h}
}

// Encode writes one line, in one call of Write.
func (e *Encoder) Encode(entry Entry) error {
	if err := e.Begin(); err != nil {
		return err
	}
	line, err := EncodeEntry(entry)
	if err != nil {
		return err
	}
	if _, err := e.w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write entry %d to the recording: %w", entry.Seq, err)
	}
	return nil
}

// Begin writes the header, where that has not been done.
func (e *Encoder) Begin() error {
	if e.header == nil {
		return nil
	}
	line, err := Marshal(*e.header)
	if err != nil {
		return fmt.Errorf("encode the recording's header: %w", err)
	}
	if _, err := e.w.Write(append(EscapeJSON(line), '\n')); err != nil {
		return fmt.Errorf("write the recording's header: %w", err)
	}
	e.header = nil
	return nil
}

// Decoder reads a recording.
type Decoder struct {
	r      *bufio.Reader
	header Header
}

// NewDecoder reads the header. What does not begin with one is not a recording.
func NewDecoder(r io.Reader) (*Decoder, error) {
	d := &Decoder{r: bufio.NewReaderSize(r, 64<<10)}
	line, err := d.line()
	if err != nil && !errors.Is(err, errTooLong) {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("read recording: it is empty")
		}
		return nil, fmt.Errorf("read recording: %w", err)
	}
	if err != nil || json.Unmarshal(line, &d.header) != nil || d.header.Kind != RecordingKind {
		return nil, fmt.Errorf("read recording: the first line is not a header of kind %s", RecordingKind)
	}
	if !readable(d.header.APIVersion) {
		return nil, fmt.Errorf("read recording: it is of version %q, this program reads %s", d.header.APIVersion, RecordingAPIVersion)
	}
	return d, nil
}

// readable reports whether a version is this one's, or another with the same number:
// "kctl-ctrl.dev/v1beta2".
func readable(version string) bool {
	rest, ok := strings.CutPrefix(version, "kctl-ctrl.dev/v1")
	return ok && (rest == "" || strings.HasPrefix(rest, "alpha") || strings.HasPrefix(rest, "beta"))
}

// Header is the recording's first line.
func (d *Decoder) Header() Header { return d.header }

// Next gives the next entry, or io.EOF after the last. A line that cannot be
// read, such as a half-written last one, becomes an entry with an Unknown event
// and no Seq; other errors are those of the reader underneath.
func (d *Decoder) Next() (Entry, error) {
	line, err := d.Line()
	if err != nil {
		return Entry{}, err
	}
	return DecodeLine(line), nil
}

// Line gives the next entry as it is written, for DecodeLine, or io.EOF after
// the last. Of a line that is too long it gives an empty one.
func (d *Decoder) Line() ([]byte, error) {
	line, err := d.line()
	switch {
	case errors.Is(err, errTooLong):
		return nil, nil
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case err != nil:
		return nil, fmt.Errorf("read recording: %w", err)
	}
	return line, nil
}

// DecodeLine is DecodeEntry for what Line gives: what cannot be read becomes an
// Unknown event.
func DecodeLine(line []byte) Entry {
	if len(line) == 0 {
		return Entry{Event: Unknown{Problem: errTooLong.Error()}}
	}
	entry, err := DecodeEntry(line)
	if err != nil {
		return Entry{Event: Unknown{Problem: err.Error()}}
	}
	return entry
}

var errTooLong = fmt.Errorf("the line is longer than %d bytes", maxLine)

// line gives the next line that is not blank, without its newline.
func (d *Decoder) line() ([]byte, error) {
	for {
		line, err := d.rawLine()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (d *Decoder) rawLine() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := d.r.ReadSlice('\n')
		if !tooLong && len(line)+len(part) > maxLine {
			line, tooLong = nil, true
		}
		if !tooLong {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(part) == 0 && len(line) == 0 && !tooLong:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case tooLong:
			return nil, errTooLong
		}
		return line, nil
	}
}
