// Package diagnosis finds why an object is in its current state: why a workload has too
// few pods, why a claim is not bound, why an object is not deleted.
//
//	reader, err := diagnosis.NewReader(config, owners)
//	facts, err := reader.Read(ctx, target)
//	facts.Story = story                   // what the controllers did with it, if they ran
//	findings := diagnosis.Findings(facts)
//
// # Facts
//
// Reader reads the object, its owners up to the root, its dependents (through
// watch/owners), and their Events. It then reads further objects only where these give
// a reason:
//
//   - nodes, where a pod is not scheduled
//   - quotas and limit ranges, where pods were rejected
//   - claims and storage classes, where pods have volumes
//   - APIServices, where a namespace is not deleted
//   - workloads whose pods a Service would select, where it selects none
//   - the autoscalers of a workload
//   - objects of a type whose CustomResourceDefinition is being deleted
//
// What cannot be read is a gap, and checks that need it report nothing: a check reports
// an object as missing only if the complete list was read. Of Secrets and ConfigMaps,
// only metadata is read.
//
// # Checks
//
// Facts are plain data. Each cause has a pure function over them; the table in
// checks.go orders them, nearest to the root cause first. A check reports what the
// fields contain. Where the evidence is a message (from the scheduler or an admission
// plugin), the check compares it with the fields that it refers to. The finding is
// certain only if they agree, or if the message is the API server's latest answer.
//
// Findings orders causes before symptoms before remarks, and within each role certain
// before likely ones. So "the rollout exceeded its progress deadline" never precedes
// "the quota is exceeded", which causes it.
package diagnosis
