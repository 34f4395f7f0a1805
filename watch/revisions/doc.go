// Package revisions reads the history of an object's pod template, whichever
// way its controller keeps it:
//
//   - a Deployment's revisions are its ReplicaSets, numbered by the annotation
//     deployment.kubernetes.io/revision; a rollback renumbers one, and its former
//     numbers go to deployment.kubernetes.io/revision-history;
//   - those of a StatefulSet, a DaemonSet and of controllers that follow their
//     example are ControllerRevisions, whose data is a patch that puts the
//     template in place again;
//   - pods say which one they run by a label: pod-template-hash, or
//     controller-revision-hash, which holds the name of the ControllerRevision
//     for a StatefulSet and its hash alone for a DaemonSet.
//
// Read is three requests, none of which grows with the cluster: the object, its
// revisions by its own selector, and the metadata of its pods. Diff and Undo
// are computed from what was read; nothing is sent. Undo repeats what kubectl
// does (k8s.io/kubectl v0.37.1 pkg/polymorphichelpers/rollback.go).
package revisions
