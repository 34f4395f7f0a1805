package controlplane

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

// walSegmentBytes replaces etcd's 64 MB: segments are allocated in advance, two
// at a time, and the run directory is in memory where possible.
const walSegmentBytes = 4 << 20

// etcdStartTimeout bounds an election with one candidate, on a very busy machine.
const etcdStartTimeout = 30 * time.Second

// startEtcd starts etcd and returns when it has elected itself. A later failure
// is sent to failed.
//
// Nothing survives this process, so nothing is synced; the short ticks make the
// lone election take 50 ms rather than up to 0.8 s. Old revisions are compacted
// by kube-apiserver (--etcd-compaction-interval, 5 minutes), as in every cluster.
func (c *child) startEtcd(failed chan<- error) error {
	started := time.Now()
	wal.SegmentSizeBytes = walSegmentBytes
	client := url.URL{Scheme: "unix", Path: filepath.Join(c.dir, wire.EtcdSocket)}
	peer := url.URL{Scheme: "unix", Path: filepath.Join(c.dir, wire.EtcdPeerSocket)}
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(c.dir, wire.EtcdDir)
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.TickMs = 10
	cfg.ElectionMs = 100
	cfg.UnsafeNoFsync = true
	cfg.EnableGRPCGateway = false
	cfg.LogLevel = "warn"
	cfg.LogFormat = "console"
	cfg.LogOutputs = []string{embed.StdErrLogOutput}

	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-etcd.Server.ReadyNotify():
	case err := <-etcd.Err():
		return fmt.Errorf("start etcd: %w", err)
	case <-etcd.Server.StopNotify():
		return errors.New("start etcd: stopped unexpectedly")
	case <-time.After(etcdStartTimeout):
		return fmt.Errorf("start etcd: not ready after %v", etcdStartTimeout)
	}
	go func() {
		select {
		case err := <-etcd.Err():
			failed <- fmt.Errorf("etcd: %w", err)
		case <-etcd.Server.StopNotify():
			failed <- errors.New("etcd stopped")
		}
	}()
	c.progressf("etcd ready (%v)", time.Since(started).Round(10*time.Millisecond))
	return nil
}
