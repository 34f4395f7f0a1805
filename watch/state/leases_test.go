package state

import (
	"testing"
	"time"
)

func TestLeaseAt(t *testing.T) {
	renewed := time.Date(2026, 11, 21, 3, 0, 0, 500_000_000, time.UTC)
	held := LeaseStatus{Identity: "web-0_1", RenewTime: renewed, Duration: 15}
	for name, c := range map[string]struct {
		lease        LeaseStatus
		after        time.Duration
		want         LeaseState
		since, until float64
		noSince      bool
		noUntil      bool
	}{
		"just renewed":               {lease: held, want: LeaseHeld, since: 0, until: 15},
		"a millisecond left":         {lease: held, after: 15*time.Second - time.Millisecond, want: LeaseHeld, since: 14.999, until: 0.001},
		"the duration has passed":    {lease: held, after: 15 * time.Second, want: LeaseExpired, since: 15, until: 0},
		"long ago":                   {lease: held, after: time.Hour, want: LeaseExpired, since: 3600, until: -3585},
		"the holder's clock is fast": {lease: held, after: -2 * time.Second, want: LeaseHeld, since: -2, until: 17},
		"released":                   {lease: LeaseStatus{RenewTime: renewed, Duration: 1}, after: time.Hour, want: LeaseFree, since: 3600, noUntil: true},
		"no renewTime":               {lease: LeaseStatus{Identity: "a", Duration: 15}, want: LeaseUnknown, noSince: true, noUntil: true},
		"no duration":                {lease: LeaseStatus{Identity: "a", RenewTime: renewed}, want: LeaseUnknown, noUntil: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.lease.At(renewed.Add(c.after))
			if got.State != c.want {
				t.Errorf("state %q, want %q", got.State, c.want)
			}
			checkSeconds(t, "since renewal", got.SinceRenew, c.since, c.noSince)
			checkSeconds(t, "until expiry", got.UntilExpiry, c.until, c.noUntil)
			if got.ExpiryTime.IsZero() != c.noUntil {
				t.Errorf("expires at %v", got.ExpiryTime)
			}
			// Judging again, later, forgets the first judgement.
			if again := got.At(renewed); again.UntilExpiry != nil && *again.UntilExpiry != float64(c.lease.Duration) {
				t.Errorf("judged again: %v", *again.UntilExpiry)
			}
		})
	}
}

func checkSeconds(t *testing.T, what string, got *float64, want float64, absent bool) {
	t.Helper()
	switch {
	case (got == nil) != absent:
		t.Errorf("%s: %v", what, got)
	case got != nil && *got != want:
		t.Errorf("%s: %v, want %v", what, *got, want)
	}
}
