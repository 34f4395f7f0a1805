package recording

import (
	"context"
	"math"
	"time"
)

// SetPlaying starts or pauses playback. At the end it starts from the beginning.
func (p *Player) SetPlaying(play bool) error {
	p.move.Lock()
	defer p.move.Unlock()
	p.mu.Lock()
	again := play && !p.playing && !p.loading && p.place == p.index.size
	start := p.index.start
	p.mu.Unlock()
	if again {
		if err := p.goTo(0, start, true); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.playing == play || p.closed {
		return nil
	}
	p.playing = play
	p.restart()
	return nil
}

// SetSpeed sets the playback speed, as a multiple of real time between MinSpeed and
// MaxSpeed.
func (p *Player) SetSpeed(speed float64) {
	if math.IsNaN(speed) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle()
	p.speed = max(MinSpeed, min(MaxSpeed, speed))
	p.restart()
}

// settle moves the head to the time of the clock. The caller holds mu.
func (p *Player) settle() {
	if p.playing {
		p.head = p.due()
	}
}

// due is the time that the head should have now.
func (p *Player) due() time.Time {
	due := p.from.Add(scale(time.Since(p.anchor), p.speed))
	if due.After(p.index.end) {
		due = p.index.end
	}
	return later(p.head, due)
}

// scale multiplies a duration without overflow.
func scale(d time.Duration, by float64) time.Duration {
	return time.Duration(min(float64(d)*by, math.MaxInt64/2))
}

// restart restarts the clock at the head. The caller holds mu.
func (p *Player) restart() {
	p.anchor, p.from = time.Now(), p.head
	p.changed()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run advances the place during playback.
func (p *Player) run(ctx context.Context) {
	timer := time.NewTimer(playInterval)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-p.wake:
		case <-ctx.Done():
			return
		}
		if p.tick() {
			timer.Reset(playInterval)
		}
	}
}

// tick advances the place to the time of the clock, and reports whether playback
// continues.
func (p *Player) tick() bool {
	p.move.Lock()
	defer p.move.Unlock()
	p.mu.Lock()
	playing, due := p.playing, time.Time{}
	if playing {
		due = p.due()
	}
	p.mu.Unlock()
	if !playing {
		return false
	}
	place, err := p.placeAt(due)
	if err == nil {
		err = p.goTo(place, due, false)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		p.playing, p.problem = false, err.Error()
		p.changed()
	case p.place == p.index.size && !p.loading:
		p.playing = false
		p.changed()
	case p.place == p.index.size:
		p.anchor, p.from = time.Now(), p.head // waits for the file
	}
	return p.playing
}
