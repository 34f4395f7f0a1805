// Package revisions reads the history of an object's pod template, in whichever form
// its controller stores it:
//
//   - A Deployment's revisions are its ReplicaSets, numbered by the annotation deployment.kubernetes.io/revision. A rollback renumbers one; its former numbers move to deployment.kubernetes.io/revision-history.
//   - The revisions of a StatefulSet, a DaemonSet and of custom controllers that follow their example are ControllerRevisions, whose data is a patch that restores the template.
//   - Pods name their revision in a label: pod-template-hash, or controller-revision-hash, which contains the name of the ControllerRevision for a StatefulSet and only its hash for a DaemonSet.
//
// Read sends three requests, whose cost does not depend on the size of the cluster: the
// object, its revisions by its own selector, and the metadata of its pods. Diff and
// Undo are computed from the result; nothing is sent. Undo does what kubectl does
// (k8s.io/kubectl v0.37.1 pkg/polymorphichelpers/rollback.go).
package revisions
