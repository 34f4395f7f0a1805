package informers

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func partial(namespace, name string, version int) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.Namespace, o.Name, o.ResourceVersion = namespace, name, strconv.Itoa(version)
	o.CreationTimestamp = metav1.Unix(int64(1_000_000+version%97), 0)
	o.Labels = map[string]string{"app": "app-" + strconv.Itoa(version%5)}
	return o
}

func built(t testing.TB, x *index, q Query) {
	t.Helper()
	until(t, "the view is built", func() bool {
		_, _, seen, of, err := x.page(q, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		return seen == of
	})
}

func keysOf(items []*item) []string {
	var keys []string
	for _, it := range items {
		keys = append(keys, key(it))
	}
	return keys
}

var queries = []Query{
	{},
	{Descending: true},
	{Sort: ByName},
	{Sort: ByAge},
	{Sort: ByVersion, Descending: true},
	{Sort: ByChange},
	{Text: "ns-1/", Sort: ByVersion},
	{Text: "WEB-1"},
	{Text: "web-1", Invert: true, Descending: true},
	{Text: "^ns-[02]/web-.*3$", Match: MatchRegexp},
	{Text: "n2w7", Match: MatchFuzzy, Sort: ByName},
	{Labels: "app in (app-1,app-2)", Text: "ns-2", Sort: ByAge},
}

// naive is what a query means, said another way.
func naive(all []*item, q Query) []*item {
	keep, order, err := q.compile()
	if err != nil {
		panic(err)
	}
	var rows []*item
	for _, it := range all {
		if keep == nil || keep(it) {
			rows = append(rows, it)
		}
	}
	slices.SortFunc(rows, order)
	if q.Descending {
		slices.Reverse(rows)
	}
	return rows
}

// Every view is what it would be if it were built anew, whatever happened before,
// while and after it was built.
func TestViewsKeepUp(t *testing.T) {
	const steps, names = 400, 6000
	random := rand.New(rand.NewPCG(1, 2))
	x := newIndex()
	defer x.close()
	now, version := time.Unix(2_000_000, 0), 0
	step := func() {
		version++
		namespace, name := "ns-"+strconv.Itoa(random.IntN(3)), "web-"+strconv.Itoa(random.IntN(names))
		if random.IntN(4) == 0 {
			x.delete(namespace, name)
		} else {
			x.put(partial(namespace, name, version), now.Add(time.Duration(version)))
		}
	}
	for range names {
		step()
	}
	for _, q := range queries {
		x.page(q, 0, 1)
		for range steps {
			step()
		}
		built(t, x, q)
		for range steps {
			step()
		}
		want := naive(x.all.Items(), q)
		got, total, _, _, err := x.page(q, 0, names*3)
		if err != nil || total != len(want) || !slices.Equal(got, want) {
			t.Fatalf("%+v: %d rows, want %d (%v)", q, len(got), len(want), err)
		}
		if len(want) < 10 {
			t.Fatalf("%+v: %d rows test nothing", q, len(want))
		}
		// A window, and the place of what is in it.
		got, _, _, _, _ = x.page(q, 7, 2)
		if !slices.Equal(got, want[7:9]) {
			t.Errorf("%+v: window %v, want %v", q, keysOf(got), keysOf(want[7:9]))
		}
		if at, found := x.place(q, want[7].namespace, want[7].name); at != 7 || !found {
			t.Errorf("%+v: place %d, %v", q, at, found)
		}
	}
	if len(x.views) != maxViews {
		t.Errorf("%d views are kept", len(x.views))
	}
	if _, found := x.place(Query{Text: "ns-1"}, "ns-2", "web-1"); found {
		t.Error("an object has a place in a view that leaves it out")
	}
	if _, found := x.place(Query{}, "ns-2", "nobody"); found {
		t.Error("an object that is not there has a place")
	}
	for _, offset := range []int{-3, total(x), total(x) + 5} {
		if got, _, _, _, _ := x.page(Query{}, offset, 2); len(got) != 0 && offset > 0 || len(got) != 2 && offset < 0 {
			t.Errorf("offset %d: %v", offset, keysOf(got))
		}
	}
}

func total(x *index) int { return x.len() }

// The same with readers and writers at once, for the race detector.
func TestViewsAtOnce(t *testing.T) {
	x := newIndex()
	for i := range 5000 {
		x.offer(partial("ns", "web-"+strconv.Itoa(i), i+1), true)
	}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 300 {
				switch worker {
				case 0:
					x.put(partial("ns", "web-"+strconv.Itoa(i*7), 6000+i), time.Unix(int64(i), 0))
				case 1:
					x.delete("ns", "web-"+strconv.Itoa(i*11))
				default:
					q := queries[i/30%len(queries)]
					if _, _, _, _, err := x.page(q, i, 50); err != nil {
						t.Error(err)
					}
					x.place(q, "ns", "web-"+strconv.Itoa(i))
				}
			}
		})
	}
	all.Wait()
	x.sweep()
	for _, it := range x.all.Items() {
		if !it.confirmed {
			t.Fatalf("%s is left though nobody confirmed it", it.name)
		}
	}
	x.close()
}

func TestOffersAndDeliveries(t *testing.T) {
	x := newIndex()
	first, second, third := partial("ns", "web", 1), partial("ns", "web", 2), partial("ns", "web", 3)
	held := func() *metav1.PartialObjectMetadata {
		return x.get("ns", "web").object.(*metav1.PartialObjectMetadata)
	}
	x.offer(first, false)
	x.offer(second, false)
	if held() != first {
		t.Error("a spare one replaces what is there")
	}
	x.offer(second, true)
	if held() != second {
		t.Error("a listed one does not replace what is there")
	}
	edition := x.edition.Load()
	x.put(second, time.Time{})
	if x.edition.Load() != edition || !x.get("ns", "web").confirmed {
		t.Error("what is delivered as it was offered is no change")
	}
	at := time.Unix(5, 0)
	x.put(third, at)
	copied := third.DeepCopy()
	x.renew(copied)
	if held() != copied || x.get("ns", "web").changed != at.UnixNano() {
		t.Error("another copy of the same version is no change, and is the store's")
	}
}

func TestQueryErrors(t *testing.T) {
	x := newIndex()
	for want, q := range map[string]Query{
		"regular expression": {Text: "(", Match: MatchRegexp},
		"label selector":     {Labels: "a in ("},
		"sort column":        {Sort: "colour"},
		"match type":         {Text: "a", Match: "glob"},
	} {
		if _, _, _, _, err := x.page(q, 0, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if len(x.views) > 0 {
		t.Error("a query that cannot be read has a view")
	}
}

// Queries that mean the same share a view.
func TestQueriesShareViews(t *testing.T) {
	x := newIndex()
	for _, q := range []Query{
		{Labels: "a=b"}, {Labels: "a=b", Descending: true}, {Labels: "a=b", Sort: ByNamespace}, {Labels: "a=b", Match: MatchFuzzy}, {Labels: "a=b", Invert: true},
	} {
		x.page(q, 0, 1)
	}
	if len(x.views) != 1 {
		t.Errorf("%d views", len(x.views))
	}
}

func indexOf(n int) *index {
	x := newIndex()
	for i := range n {
		x.put(partial(fmt.Sprintf("ns-%03d", i%200), fmt.Sprintf("web-%06d", i), i+1), time.Time{})
	}
	return x
}

// BenchmarkWindow reads 50 rows from the middle of a view while events come in.
// Its cost is not to grow with the number of objects.
func BenchmarkWindow(b *testing.B) {
	for _, n := range []int{1_500, 15_000, 150_000} {
		x := indexOf(n)
		for _, q := range []Query{{}, {Sort: ByAge, Descending: true}, {Text: "web-0001", Invert: true}, {Labels: "app=app-1"}} {
			name := cmp.Or(string(q.Sort), "key") + "/" + cmp.Or(q.Text, q.Labels, "all")
			built(b, x, q)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				_, total, _, _, _ := x.page(q, 0, 1)
				in := &informer{index: x}
				for b.Loop() {
					items, _, _, _, _ := x.page(q, total/2, 50)
					for _, it := range items {
						in.row(it)
					}
				}
			})
		}
		x.close()
	}
}

// BenchmarkEvent is an event of one object, with four views to keep up to date.
func BenchmarkEvent(b *testing.B) {
	for _, n := range []int{1_500, 15_000, 150_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			x := indexOf(n)
			defer x.close()
			for _, q := range []Query{{Sort: ByAge}, {Sort: ByChange}, {Text: "web-00"}, {Labels: "app=app-1"}} {
				built(b, x, q)
			}
			i := 0
			for b.Loop() {
				i++
				x.put(partial(fmt.Sprintf("ns-%03d", i%n%200), fmt.Sprintf("web-%06d", i%n), n+i), time.Unix(0, int64(i)))
			}
		})
	}
}

// BenchmarkBuild is a view of 150,000 objects, from the first question to the
// last row.
func BenchmarkBuild(b *testing.B) {
	x := indexOf(150_000)
	i := 0
	for b.Loop() {
		i++
		q := Query{Text: strconv.Itoa(i), Invert: true, Sort: ByAge}
		for seen, of := 0, 1; seen < of; {
			_, _, seen, of, _ = x.page(q, 0, 50)
			time.Sleep(time.Millisecond)
		}
	}
	x.close()
}
