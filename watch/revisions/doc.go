// Package revisions reads the history of an object's pod template, in each form in which
// controllers store it:
//
//   - the revisions of a Deployment are its ReplicaSets, numbered by the annotation
//     deployment.kubernetes.io/revision; a rollback changes the number of one, and its former
//     numbers are kept in deployment.kubernetes.io/revision-history;
//   - those of a StatefulSet, a DaemonSet and of similar controllers are ControllerRevisions,
//     whose data is a patch that restores the template;
//   - a label of each pod names its revision: pod-template-hash, or
//     controller-revision-hash, which is the name of the ControllerRevision for a StatefulSet
//     and only its hash for a DaemonSet.
//
// Read sends three requests, whose number does not depend on the size of the cluster: the
// object, its revisions by its own selector, and the metadata of its pods. Diff and Undo are
// computed from what was read; nothing is sent. Undo computes what kubectl would do
// (k8s.io/kubectl v0.37.1 pkg/polymorphichelpers/rollback.go).
package revisions
