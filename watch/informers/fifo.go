package informers

import (
	"sync/atomic"

	"k8s.io/client-go/tools/cache"
)

// gauge is the depth of a FIFO, as the FIFO itself reports it.
type gauge struct{ value atomic.Int64 }

func (g *gauge) Set(v float64) { g.value.Store(int64(v)) }

type ignored struct{}

func (ignored) Set(float64) {}

func (ignored) Observe(float64) {}

// fifoMetrics is a cache.InformerMetricsProvider for one informer.
type fifoMetrics struct{ depth *gauge }

func (m fifoMetrics) NewQueuedItemMetric(cache.InformerNameAndResource) cache.GaugeMetric {
	return m.depth
}

func (fifoMetrics) NewProcessingLatencyMetric(cache.InformerNameAndResource) cache.HistogramMetric {
	return ignored{}
}

func (fifoMetrics) NewStoreResourceVersionMetric(cache.InformerNameAndResource) cache.GaugeMetric {
	return ignored{}
}
