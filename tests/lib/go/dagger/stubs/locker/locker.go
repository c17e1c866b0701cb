// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Package locker stands in for the one of that name: mutexes by name.
package locker

import "sync"

type Locker struct {
	mu    sync.Mutex
	locks map[string]*sync.Mutex
}

func New() *Locker { return &Locker{locks: map[string]*sync.Mutex{}} }

func (l *Locker) find(name string) *sync.Mutex {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locks[name] == nil {
		l.locks[name] = new(sync.Mutex)
	}
	return l.locks[name]
}

//go:noinline
func (l *Locker) Lock(name string) { l.find(name).Lock() }

func (l *Locker) Unlock(name string) { l.find(name).Unlock() }

// IsFree is the test's own: would Lock wait now?
func (l *Locker) IsFree(name string) bool {
	m := l.find(name)
	if !m.TryLock() {
		return false
	}
	m.Unlock()
	return true
}
