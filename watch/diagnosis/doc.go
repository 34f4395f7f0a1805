// Package diagnosis says why an object is as it is: why a workload has too few
// pods, why a claim is unbound, why something will not go away.
//
//	reader, err := diagnosis.NewReader(config, owners)
//	facts, err := reader.Read(ctx, target)
//	facts.Story = story                   // what the loops did with it, if they ran
//	findings := diagnosis.Findings(facts)
//
// # Facts
//
// Reader reads what is around an object and may bear on it: the object itself,
// its owners up to the root and what it owns (by watch/owners), their Events,
// and then only what those give reason to ask for: nodes where a pod has none,
// quotas and limits where pods were refused, claims and storage classes where
// pods have volumes, APIServices where a namespace does not go, the workloads that
// would make the pods of a Service that selects none, the autoscalers of a workload,
// the objects of a type whose CustomResourceDefinition is deleted. What may not be
// read is a gap, and a check that needs it is silent: an absence is claimed only
// where a complete list was read. Of Secrets and ConfigMaps the metadata alone is
// read.
//
// # Checks
//
// Facts are plain data. Each cause has a pure function over them; the table in
// checks.go puts them in order, what is nearer to the root first. A check tells
// what the fields say. Where a message of Kubernetes is the evidence (the
// scheduler's, an admission plugin's), it is held against the fields it speaks
// of, and the finding is certain only if they agree or the message is the
// server's own last word.
//
// Findings puts causes before symptoms before remarks, and within each what is
// certain before what is likely. So "the rollout exceeded its deadline" never
// stands before "the quota is used up", of which it is the consequence.
package diagnosis
