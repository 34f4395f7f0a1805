package plan

import "testing"

// The examples of the README must load, and differ as they say.
func TestExamples(t *testing.T) {
	count := map[string]int{}
	for _, dir := range []string{"shop", "shop-next"} {
		objects, err := Load(Sources{Files: []string{"../../examples/" + dir}})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.GetKind() != "Namespace" && o.GetNamespace() != "shop" {
				t.Errorf("%s: %s is in no or another namespace", o.Source, o)
			}
			count[o.String()]++
		}
	}
	once := map[string]bool{}
	for name, n := range count {
		if n == 1 {
			once[name] = true
		}
	}
	for _, name := range []string{"Job shop/migrate-1-4", "Job shop/migrate-1-5", "Deployment shop/mail-worker"} {
		if !once[name] {
			t.Errorf("%s should be in one of the two examples only", name)
		}
		delete(once, name)
	}
	if len(once) > 0 {
		t.Errorf("also in one only: %v", once)
	}
}
