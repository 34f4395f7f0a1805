#!/bin/sh
# Records what the screenshots ask a cluster for: the tree, the delete preview and
# the revisions of the shop after its change. Run from the root of the repository:
#
#   kctl-ctrl sandbox -- tui/testdata/screens/record.sh
set -eu
kctl=${KCTL_CTRL:-kctl-ctrl}
to=$(dirname "$0")

settled() {
  for o in deployment/web daemonset/log-agent statefulset/db "$@"; do
    kubectl -n shop rollout status "$o" --timeout=60s
  done
}

because() { kubectl -n shop annotate --overwrite "$1" "kubernetes.io/change-cause=$2"; }

kubectl apply --server-side -f examples/shop/
because deployment/web 'release 1.4'
settled
kubectl apply --server-side -f examples/shop-next/
because deployment/web 'release 1.5'
settled deployment/mail-worker

# An object with two owners survives the one; a finalizer holds the other.
uid() { kubectl -n shop get "$1" -o 'jsonpath={.metadata.uid}'; }
kubectl -n shop apply --server-side -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: web-sessions
  ownerReferences:
  - {apiVersion: apps/v1, kind: Deployment, name: web, uid: $(uid deployment/web)}
  - {apiVersion: apps/v1, kind: StatefulSet, name: db, uid: $(uid statefulset/db)}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: web-exports
  finalizers: [shop.example/archive]
  ownerReferences:
  - {apiVersion: apps/v1, kind: Deployment, name: web, uid: $(uid deployment/web)}
EOF

"$kctl" tree deployment/web -n shop -o json > "$to/tree.json"
"$kctl" cascade deployment/web -n shop -o json > "$to/cascade.json"
for o in deployment/web deployment/mail-worker daemonset/log-agent statefulset/db; do
  "$kctl" revisions "$o" -n shop -o json > "$to/revisions-$(basename "$o").json"
done
