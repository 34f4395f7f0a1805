package twin

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Elsewhere is the scenario of writes that belong to none.
const Elsewhere = "(cluster)"

// Write says what was written: existence, not how often.
type Write struct {
	// Account is the service account that kube-controller-manager gives the
	// controller; some controllers share one.
	Account string
	// Verb is the API's. On a status, update and patch are "write".
	Verb string
	// Resource is the plural, with the subresource: "pods/status".
	Resource string
	// Object is the name; what differs from run to run is "*".
	Object string
}

func (w Write) String() string {
	return strings.Join([]string{w.Account, w.Verb, w.Resource, w.Object}, " ")
}

// Set counts, for each kind of write, the objects that were written: the ordinals.
type Set map[Write]int

// Options are the facts that a Log goes by.
type Options struct {
	// Accounts maps the last part of a user agent to the controller's account.
	Accounts map[string]string
	// Others are the last parts of user agents that are no controllers.
	Others []string
	// Scenario names the scenario of an object, or returns "".
	Scenario func(namespace, name string) string
}

// Known is an object that both sides start from.
type Known struct {
	Resource, Namespace, Name string
	// Controller is "Kind/name" of its managing owner, or empty.
	Controller string
}

// Log makes Sets from audit events.
type Log struct {
	options Options
	sets    map[string]map[Write]*written
	// patterns are by resource, namespace and name; prefixes by resource and
	// namespace, the names that the API server completes.
	patterns map[[3]string]string
	prefixes map[[2]string]map[string]string
	unknown  map[string]int
	total    int
}

type written struct {
	names     map[string]bool
	generated int
}

// NewLog makes a Log of what happens to objects that are known.
func NewLog(options Options, known []Known) *Log {
	l := &Log{
		options: options, sets: map[string]map[Write]*written{}, unknown: map[string]int{},
		patterns: map[[3]string]string{}, prefixes: map[[2]string]map[string]string{},
	}
	for _, k := range known {
		if pattern := member(k.Resource, k.Controller); pattern != "" {
			l.patterns[[3]string{k.Resource, k.Namespace, k.Name}] = pattern
		}
	}
	return l
}

// Alike are owners whose pods are alike: which of them is deleted is left to chance.
var alike = []string{"ReplicaSet/", "ReplicationController/", "Job/", "DaemonSet/"}

// member is the name for one of several alike objects of an owner.
func member(resource, owner string) string {
	if resource == "pods" && slices.ContainsFunc(alike, func(kind string) bool { return strings.HasPrefix(owner, kind) }) {
		return Scrub(owner) + "/*"
	}
	return ""
}

// Add takes an event and reports whether it is news: a persisted write of a controller
// that its set did not have yet.
func (l *Log) Add(e *auditv1.Event) bool {
	if !persisted(e) {
		return false
	}
	account, ok := l.account(e)
	if !ok {
		return false
	}
	ref := e.ObjectRef
	object := metadataOf(e.RequestObject)
	name := ref.Name
	pattern := ""
	if e.Verb == "create" && ref.Subresource == "" {
		pattern = l.created(ref, object)
	}
	if pattern == "" {
		pattern = l.patternOf(ref.Resource, ref.Namespace, name)
	}
	scenario := l.options.Scenario(ref.Namespace, name)
	if scenario == "" {
		scenario = Elsewhere
	}
	w := Write{Account: account, Verb: e.Verb, Resource: ref.Resource, Object: pattern}
	if ref.Subresource != "" {
		w.Resource += "/" + ref.Subresource
	}
	if ref.Subresource == "status" && (w.Verb == "update" || w.Verb == "patch") {
		w.Verb = "write"
	}
	if l.sets[scenario] == nil {
		l.sets[scenario] = map[Write]*written{}
	}
	to := l.sets[scenario][w]
	if to == nil {
		to = &written{names: map[string]bool{}}
		l.sets[scenario][w] = to
	}
	l.total++
	before := to.count()
	if name == "" && e.Verb == "create" {
		to.generated++
	} else {
		to.names[name] = true
	}
	return to.count() > before
}

func (w *written) count() int { return max(len(w.names), w.generated) }

// persisted reports whether the server changed something that is compared. Events
// are aggregated by time, tokens and reviews are not stored.
func persisted(e *auditv1.Event) bool {
	if e.Stage != auditv1.StageResponseComplete || e.ObjectRef == nil || e.ResponseStatus == nil || e.ResponseStatus.Code/100 != 2 {
		return false
	}
	switch e.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
	default:
		return false
	}
	switch r := e.ObjectRef.Resource; {
	case r == "events", strings.HasSuffix(r, "reviews"), e.ObjectRef.Subresource == "token":
		return false
	}
	uri, err := url.Parse(e.RequestURI)
	return err == nil && len(uri.Query()["dryRun"]) == 0
}

func (l *Log) account(e *auditv1.Event) (string, bool) {
	agent := e.UserAgent[strings.LastIndex(e.UserAgent, "/")+1:]
	if slices.Contains(l.options.Others, agent) || e.User.Username == "system:apiserver" {
		return "", false
	}
	account, ok := l.options.Accounts[agent]
	if !ok {
		l.unknown[e.UserAgent]++
	}
	return account, ok
}

func metadataOf(o *runtime.Unknown) metav1.ObjectMeta {
	var content struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if o != nil {
		_ = json.Unmarshal(o.Raw, &content) // what is no object has no name
	}
	return content.Metadata
}

// created remembers what a new object's name is made of.
func (l *Log) created(ref *auditv1.ObjectReference, object metav1.ObjectMeta) string {
	owner := ""
	if o := metav1.GetControllerOfNoCopy(&object); o != nil {
		owner = o.Kind + "/" + l.patternOf(plural(o.Kind), ref.Namespace, o.Name)
	}
	pattern := member(ref.Resource, owner)
	if object.Name == "" && object.GenerateName != "" {
		if pattern == "" {
			pattern = Scrub(object.GenerateName) + "*"
		}
		at := [2]string{ref.Resource, ref.Namespace}
		if l.prefixes[at] == nil {
			l.prefixes[at] = map[string]string{}
		}
		l.prefixes[at][object.GenerateName] = pattern
		return pattern
	}
	if pattern != "" {
		l.patterns[[3]string{ref.Resource, ref.Namespace, object.Name}] = pattern
	}
	return pattern
}

// plural is the resource of an owner's kind; those of the API server's built-in
// owners are regular.
func plural(kind string) string { return strings.ToLower(kind) + "s" }

// suffixLength is that of the random part of a name: k8s.io/apiserver
// pkg/storage/names/generate.go.
const suffixLength = 5

func (l *Log) patternOf(resource, namespace, name string) string {
	if pattern, ok := l.patterns[[3]string{resource, namespace, name}]; ok {
		return pattern
	}
	if at := len(name) - suffixLength; at > 0 {
		if pattern, ok := l.prefixes[[2]string{resource, namespace}][name[:at]]; ok {
			return pattern
		}
	}
	return Scrub(name)
}

var (
	uidPattern    = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	pemPattern    = regexp.MustCompile(`(?s)-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----`)
	timePattern   = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z`)
	minutePattern = regexp.MustCompile(`-[23][0-9]{7}\b`)
)

// Scrub takes UIDs, times, certificates, and the minutes that a CronJob's Jobs are named after,
// out of a text.
func Scrub(text string) string {
	if strings.Contains(text, "-----BEGIN") {
		text = pemPattern.ReplaceAllString(text, "(certificates)")
	}
	text = timePattern.ReplaceAllString(uidPattern.ReplaceAllString(text, "*"), "(time)")
	return minutePattern.ReplaceAllString(text, "-*")
}

// Sets are the writes by scenario.
func (l *Log) Sets() map[string]Set {
	out := map[string]Set{}
	for scenario, writes := range l.sets {
		set := Set{}
		for w, to := range writes {
			set[w] = to.count()
		}
		out[scenario] = set
	}
	return out
}

// Total counts the writes.
func (l *Log) Total() int { return l.total }

// Unknown are the user agents that wrote and are in none of the Options, with the
// number of writes.
func (l *Log) Unknown() map[string]int { return l.unknown }
