package controllers

import (
	"slices"
	"testing"
)

// Every queue of every loop is known, and no other.
func TestKeysOfEveryQueue(t *testing.T) {
	left := map[string]bool{}
	for queue := range keyTypes {
		left[queue] = true
	}
	for queue := range feeds {
		left[queue] = true
	}
	for _, r := range table() {
		for _, queue := range r.queues {
			keys, known := KeysOf(r.name, queue)
			if !known {
				t.Errorf("%s: it is not known what the keys of queue %s are", r.name, queue)
			}
			if keys.Any || keys.Feeds || len(keys.Types) > 0 {
				delete(left, queue)
			}
		}
	}
	for queue := range left {
		t.Errorf("no loop has a queue %s", queue)
	}
}

// A loop that decides about a type has a queue with its keys, so that one object
// can be let through.
func TestLoopsOfHaveTheKeys(t *testing.T) {
	rows := map[string]row{}
	for _, r := range table() {
		rows[r.name] = r
	}
	for typ, loops := range loopsOf {
		for _, name := range loops {
			r, is := rows[name]
			if !is {
				t.Errorf("%s: there is no loop %s", typ, name)
				continue
			}
			if !slices.ContainsFunc(r.queues, func(queue string) bool {
				keys, _ := KeysOf(name, queue)
				return slices.Contains(keys.Types, typ)
			}) {
				t.Errorf("%s has no queue for %s", name, typ)
			}
		}
	}
}

func TestConfinable(t *testing.T) {
	for typ, want := range map[string]bool{"deployments.apps": true, "namespaces": false, "persistentvolumeclaims": false} {
		if got := Confinable(LoopsOf(typ)); got != want {
			t.Errorf("Confinable(LoopsOf(%q)) = %t", typ, got)
		}
	}
}

func TestKeyName(t *testing.T) {
	for key, want := range map[string]string{"shop/web": "shop/web", "claim:shop/gpu": "shop/gpu", "pod:shop/web-0": "shop/web-0"} {
		if got := KeyName(key); got != want {
			t.Errorf("KeyName(%q) = %q", key, got)
		}
	}
}
