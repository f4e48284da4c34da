// Package limiter keeps callers from asking too often.
package limiter

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrClosed is given by a limiter that was closed.
var ErrClosed = errors.New("limiter: closed")

const (
	defaultBurst = 10
	// idleAfter is when a bucket is forgotten.
	idleAfter = 10 * time.Minute
)

type (
	// Clock tells the time; tests give their own.
	Clock interface {
		Now() time.Time
	}

	systemClock struct{}
)

func (systemClock) Now() time.Time { return time.Now() }

// Limiter hands out tokens by key.
//
// The zero value is not usable; make one with New.
type Limiter struct {
	mu      sync.Mutex
	clock   Clock
	rate    float64
	burst   float64
	buckets map[string]*bucket
	closed  chan struct{}
}

type bucket struct {
	tokens float64
	last   time.Time
}

// New makes a limiter that gives rate tokens a second to each key.
func New(rate float64, clock Clock) *Limiter {
	if clock == nil {
		clock = systemClock{}
	}
	return &Limiter{
		clock:   clock,
		rate:    rate,
		burst:   defaultBurst,
		buckets: make(map[string]*bucket),
		closed:  make(chan struct{}),
	}
}

// Allow takes a token of the key's bucket if there is one.
func (l *Limiter) Allow(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take(key) == 0
}

// take gives how long to wait for the next token, 0 if one was taken.
// The caller holds the lock.
func (l *Limiter) take(key string) time.Duration {
	now := l.clock.Now()
	found, ok := l.buckets[key]
	if !ok {
		found = &bucket{tokens: l.burst, last: now}
		l.buckets[key] = found
	}
	found.tokens += now.Sub(found.last).Seconds() * l.rate
	if found.tokens > l.burst {
		found.tokens = l.burst
	}
	found.last = now
	if found.tokens >= 1 {
		found.tokens--
		return 0
	}
	missing := 1 - found.tokens
	return time.Duration(missing / l.rate * float64(time.Second))
}

// Wait blocks until the key has a token, the context ends or the limiter is closed.
func (l *Limiter) Wait(ctx context.Context, key string) error {
	for {
		l.mu.Lock()
		wait := l.take(key)
		l.mu.Unlock()
		if wait == 0 {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-l.closed:
			timer.Stop()
			return ErrClosed
		}
	}
}

// Map calls each of the keys' functions as the limiter lets it.
func Map[K comparable, V any](l *Limiter, items map[K]V, call func(K, V)) {
	for key, value := range items {
		if l.Allow("map") {
			call(key, value)
		}
	}
}

func (l *Limiter) Close() { close(l.closed) }
