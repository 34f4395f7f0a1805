//go:build twins || scenarios

package engine

// silentNodes is how long a node may be silent where scenarios wait for that. Other
// tests leave it at upstream's 50 s: on a busy machine simulated kubelets are late.
const silentNodes = "--node-monitor-grace-period=30s"
