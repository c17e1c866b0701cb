// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Package locker stands in for the one of that name: mutexes by name.
package locker

import "sync"

type lock struct {
	mu     sync.Mutex
	waited bool // who has it had to wait for it
}

type Locker struct {
	mu    sync.Mutex
	locks map[string]*lock
}

func New() *Locker { return &Locker{locks: map[string]*lock{}} }

func (l *Locker) find(name string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locks[name] == nil {
		l.locks[name] = new(lock)
	}
	return l.locks[name]
}

//go:noinline
func (l *Locker) Lock(name string) {
	m := l.find(name)
	if m.mu.TryLock() {
		m.waited = false
		return
	}
	m.mu.Lock()
	m.waited = true
}

func (l *Locker) Unlock(name string) { l.find(name).mu.Unlock() }

// Waited is the test's own, for who has the lock: did it wait for it?
func (l *Locker) Waited(name string) bool { return l.find(name).waited }
