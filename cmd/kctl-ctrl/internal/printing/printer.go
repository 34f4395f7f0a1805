// Package printing prints what a command found as -o says: a table or a text of the
// command's own, JSON, YAML, names, templates and columns as kubectl has them. Nothing
// that comes from a cluster acts on a terminal or on the runner of a CI system, in any of
// these forms.
package printing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/cmd/get"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Found is what a verb found, in the forms in which it can be printed. Only the
// one that was asked for is made.
type Found struct {
	// Document gives the struct for programs: with about.APIVersion, kind and, for a
	// list, items.
	Document func() any
	// Names gives the lines of -o name: "lease.coordination.k8s.io/leader".
	Names func() []string
	// Table gives the table, of all columns for -o wide.
	Table func(wide bool) render.Table
	// Text writes a format of the verb's own, one of those that New was
	// told, and the default one where there is no Table.
	Text func(w io.Writer, format string) error
}

// Printer prints what a verb found as -o says, with kubectl's formats. It
// belongs to one run of one command.
type Printer struct {
	flags     *genericclioptions.PrintFlags
	columns   *get.CustomColumnsPrintFlags
	own       []string
	NoHeaders bool
	// choice is the value of --color, and color what it comes to.
	choice string
	Color  bool

	objects printers.ResourcePrinter
	// widths are the columns' of the tables printed before: a stream of them
	// stays straight.
	widths []int
	// tables and documents count what was printed.
	tables, documents int
}

// New makes a printer. own are the formats of the verb itself, beside
// the table and kubectl's: "dot".
func New(own ...string) *Printer {
	p := &Printer{flags: genericclioptions.NewPrintFlags(""), columns: get.NewCustomColumnsPrintFlags(), own: own}
	p.flags.JSONYamlPrintFlags.ShowManagedFields = true // no document of ours has any to hide
	p.flags.NamePrintFlags = nil
	return p
}

// Formats are the values of -o.
func (p *Printer) Formats() []string {
	formats := slices.Concat([]string{"wide", "json", "yaml", "kyaml", "name"}, p.own)
	formats = append(formats, p.columns.AllowedFormats()...)
	return append(formats, p.flags.TemplatePrinterFlags.AllowedFormats()...)
}

// AddFlags registers -o and what goes with it, with their completions.
func (p *Printer) AddFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(p.flags.OutputFormat, "output", "o", "", "output format, one of: "+strings.Join(p.Formats(), ", "))
	flags.BoolVar(&p.NoHeaders, "no-headers", false, "leave the titles of the columns out")
	flags.StringVar(&p.choice, "color", "auto", "auto, always or never")
	p.flags.TemplatePrinterFlags.AddFlags(cmd)
	p.flags.OutputFlagSpecified = func() bool { return flags.Changed("output") }
	_ = cmd.RegisterFlagCompletionFunc("color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(p.Formats(), cobra.ShellCompDirectiveNoFileComp))
}

// Complete checks the format, before anything is asked of a cluster, and
// decides about colours on out.
func (p *Printer) Complete(out io.Writer) error {
	var err error
	if p.Color, err = console.Color(p.choice, out); err != nil {
		return err
	}
	if slices.Contains(append([]string{"wide", "name"}, p.own...), p.Format()) || p.Format() == "" && *p.flags.TemplatePrinterFlags.TemplateArgument == "" {
		return nil
	}
	p.columns.NoHeaders = p.NoHeaders
	p.columns.TemplateArgument = *p.flags.TemplatePrinterFlags.TemplateArgument
	p.objects, err = p.columns.ToPrinter(p.Format())
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		p.objects, err = p.flags.ToPrinter()
	}
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return fmt.Errorf("unknown output format %q: use %s", p.Format(), strings.Join(p.Formats(), ", "))
	}
	return err
}

// Format is the value of -o.
func (p *Printer) Format() string { return *p.flags.OutputFormat }

// ForPeople reports whether a table or another text to be read is printed, so
// that remarks on standard error are welcome beside it.
func (p *Printer) ForPeople() bool {
	return p.objects == nil && p.Format() != "name"
}

// Print writes what was found. Called again, for the changes of --watch, it
// continues the same output: titles are not repeated, YAML documents are
// separated.
func (p *Printer) Print(out io.Writer, f Found) error {
	switch {
	case p.objects != nil:
		return p.printObject(out, f.Document())
	case p.Format() == "name":
		for _, name := range f.Names() {
			if _, err := fmt.Fprintln(out, render.Sanitise(name)); err != nil {
				return err
			}
		}
		return nil
	case f.Text != nil && (f.Table == nil || slices.Contains(p.own, p.Format())):
		return f.Text(out, p.Format())
	}
	return p.printTable(out, f.Table(p.Format() == "wide"))
}

func (p *Printer) printTable(out io.Writer, table render.Table) error {
	if len(table.Rows) == 0 {
		return nil
	}
	for i := range min(len(p.widths), len(table.Columns)) {
		table.Columns[i].Min = max(table.Columns[i].Min, p.widths[i])
	}
	p.widths = table.Widths()
	p.tables++
	return table.Write(out, render.TableOptions{NoHeaders: p.NoHeaders || p.tables > 1, Color: p.Color})
}

// printObject prints a document for programs. Text of a cluster cannot act on a
// terminal there either: JSON and YAML spell odd characters out, which changes
// nothing for those who parse them; templates and columns, which print values
// bare, get them with U+FFFD in their place.
func (p *Printer) printObject(out io.Writer, document any) error {
	format := p.Format()
	spelt := format == "json" || format == "yaml" || format == "kyaml" || strings.HasPrefix(format, "jsonpath-as-json")
	inert := render.Sanitise
	if spelt {
		inert = func(s string) string { return s }
	}
	object, err := toObject(document, inert)
	if err != nil {
		return err
	}
	printed, err := p.encode(object, format, spelt)
	if err != nil {
		return err
	}
	p.documents++
	if !spelt && p.wantsCommands() {
		out = render.Bare(out)
	}
	_, err = out.Write(printed)
	return err
}

// encode prints an object with kubectl's printer, odd characters spelt out where
// there are escapes for them.
func (p *Printer) encode(object runtime.Unstructured, format string, spelt bool) ([]byte, error) {
	inYAML := format == "yaml" || format == "kyaml"
	if inYAML {
		text, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		if bytes.ContainsFunc(text, odd) {
			return p.spellYAML(object, format)
		}
	}
	var text bytes.Buffer
	if err := p.objects.PrintObj(object, &text); err != nil {
		// A template's error ends in the whole object.
		words, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
		return nil, errors.New(strings.TrimSuffix(words, ". Printing more information for debugging the template:"))
	}
	printed := text.Bytes()
	switch {
	case inYAML && state.HoldsCommand(text.String()):
		return p.spellYAML(object, format)
	case format == "yaml" && p.documents > 0 && !bytes.HasPrefix(printed, []byte(yamlSeparator)):
		return slices.Concat([]byte(yamlSeparator), printed), nil
	case spelt:
		return state.EscapeJSON(printed), nil
	}
	return printed, nil
}

// spellYAML writes an object as YAML with what kubectl's printers fail on or leave
// bare spelt out: JSON has escapes for all of it, and is YAML.
func (p *Printer) spellYAML(object runtime.Unstructured, format string) ([]byte, error) {
	text, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return nil, err
	}
	var separator []byte
	if format == "kyaml" || p.documents > 0 {
		separator = []byte(yamlSeparator)
	}
	return slices.Concat(separator, state.EscapeJSONInYAML(text), []byte("\n")), nil
}

// wantsCommands reports whether the user's template or columns hold commands to the
// runner of a CI system, which are to get there. What a cluster's values come to in
// them is sanitised.
func (p *Printer) wantsCommands() bool {
	kind, template, _ := strings.Cut(p.Format(), "=")
	if template == "" {
		template = *p.flags.TemplatePrinterFlags.TemplateArgument
	}
	if strings.HasSuffix(kind, "file") {
		text, err := os.ReadFile(template)
		if err != nil {
			return false
		}
		template = string(text)
	}
	return strings.Contains(template, "::") || state.HoldsCommand(template)
}

// yamlSeparator stands between the documents of a stream.
const yamlSeparator = "---\n"

// toObject brings a document into the form that kubectl's printers take, with
// every string of it made inert.
func toObject(document any, inert func(string) string) (runtime.Unstructured, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", document, err)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &object.Object); err != nil {
		return nil, fmt.Errorf("encode %T: %w", document, err)
	}
	plainValues(object.Object, inert)
	if !object.IsList() {
		return object, nil
	}
	return object.ToList()
}

// plainValues makes strings inert, and int64 of the whole numbers that
// encoding/json decoded as float64, as every decoder of Kubernetes does:
// templates print 10000000 and not 1e+07.
func plainValues(v any, inert func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		for field, item := range v {
			v[field] = plainValues(item, inert)
		}
	case []any:
		for i, item := range v {
			v[i] = plainValues(item, inert)
		}
	case float64:
		if whole := int64(v); float64(whole) == v {
			return whole
		}
	case string:
		return inert(v)
	}
	return v
}

// odd reports the runes that a terminal might act on or not show.
func odd(r rune) bool { return r != '\n' && !state.Printable(r) }
