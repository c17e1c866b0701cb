// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// engine [SESSIONS [ROUNDS [SEED]]]: the stand-in at work. Sessions, a goroutine
// each, go through rounds in lock step. Which call is shared, fails, panics, is
// abandoned or runs a process follows from the numbers; who comes first is the
// scheduler's, so one dump is compared with another of the same run only.
//
// ENGINE_WCPROF names the file for its own dump; ENGINE_BURN=N adds N goroutines
// that burn CPU and move meanwhile. It prints the clock of its dump's time 0.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const parts = 3

type Server struct {
	cache    *Cache
	executor *Executor
	sessions []*Session
	rounds   []*round
	seed     uint64
}

// What all sessions of a round share.
type round struct {
	name                  string
	module, broken, image *CallRequest
	part                  [parts]*CallRequest
	directory             *Lazy
	service               *Service
	cacheVolume, lazyMu   *NamedLock
}

// barrier: all arrive before any goes on.
type barrier struct {
	mutex   sync.Mutex
	cond    *sync.Cond
	n, here int
	turn    int
}

func (b *barrier) wait() {
	b.mutex.Lock()
	turn := b.turn
	if b.here++; b.here == b.n {
		b.here = 0
		b.turn++
		b.cond.Broadcast()
	}
	for turn == b.turn {
		b.cond.Wait()
	}
	b.mutex.Unlock()
}

func (s *Server) someMs(a, b, most int) time.Duration {
	x := s.seed*0x9e3779b97f4a7c15 + uint64(a)*0xbf58476d1ce4e5b9 + uint64(b)*0x94d049bb133111eb
	x ^= x >> 31
	x *= 0xff51afd7ed558ccd
	return time.Duration(1+(x>>33)%uint64(most)) * time.Millisecond
}

var burnt uint64

func burn(n int) {
	x := uint32(1)
	for i := 0; i < n*10000; i++ {
		x = x*1664525 + 1013904223
	}
	atomic.AddUint64(&burnt, uint64(x))
}

// deepen calls f from far down: the stack grows, and moves.
//
//go:noinline
func deepen(n int, f func() error) error {
	var room [128]byte
	room[n%128] = byte(n)
	if n == 0 {
		return f()
	}
	err := deepen(n-1, f)
	if room[n%128] != byte(n) {
		panic("the stack moved wrongly")
	}
	return err
}

// ---- resolvers ----

func (s *Server) request(field, digest string, round, session int, resolve func(context.Context, *Execution) error) *CallRequest {
	return &CallRequest{Field: field, Digest: fmt.Sprintf("sha:%s-%d-%d", digest, round, session), Resolve: resolve, Number: round}
}

func (s *Server) resolvePart(ctx context.Context, x *Execution) error {
	burn(20)
	time.Sleep(s.someMs(x.req.Number, 7, 6))
	return nil
}

// Loads the parts of a module at once while others join.
func (s *Server) resolveModule(ctx context.Context, x *Execution) error {
	var all sync.WaitGroup
	for i := 0; i < parts; i++ {
		all.Add(1)
		go func(req *CallRequest) {
			defer all.Done()
			deepen(20+10*x.req.Number, func() error {
				_, err := s.cache.getOrInitCall(ctx, x.session.ID, x.session, req)
				return err
			})
		}(s.rounds[x.req.Number].part[i])
	}
	all.Wait()
	x.gather(x.req.Joiners + 1)
	time.Sleep(2 * time.Millisecond)
	return nil
}

func (s *Server) resolveBroken(ctx context.Context, x *Execution) error {
	x.gather(x.req.Joiners + 1)
	time.Sleep(time.Millisecond)
	return errors.New("broken")
}

// Pulls an image: others know it by name before it is there.
func (s *Server) resolveImage(ctx context.Context, x *Execution) error {
	t := &Transfer{Ref: x.req.Digest, done: make(chan error)}
	s.cache.nameResult(x, x.req.Digest)
	t.begin(ctx)
	go func() {
		time.Sleep(4 * time.Millisecond)
		t.end(nil)
	}()
	time.Sleep(s.someMs(x.req.Number, 3, 3))
	return t.wait(ctx)
}

func (s *Server) resolveImageDigest(ctx context.Context, x *Execution) error {
	return s.cache.awaitResult(ctx, s.rounds[x.req.Number].image.Digest)
}

func (s *Server) evaluateDirectory(ctx context.Context, l *Lazy) error {
	l.waiters.Wait()
	_, err := s.cache.getOrInitCall(ctx, l.session.ID, l.session, s.request("Directory.entries", "entries", l.number, 0, s.resolvePart))
	return err
}

func (s *Server) resolveContainer(ctx context.Context, x *Execution) error {
	return s.executor.run(ctx, &Process{ID: x.req.Digest, Args: []string{"/bin/sleep", "0.01"}, session: x.session})
}

func (s *Server) resolveFails(ctx context.Context, x *Execution) error {
	return s.executor.run(ctx, &Process{ID: x.req.Digest, Args: []string{"/bin/false"}, session: x.session})
}

// Goes on when its caller has left; every other one stops then.
func (s *Server) resolveSlow(ctx context.Context, x *Execution) error {
	time.Sleep(time.Duration(60+x.req.Number) * time.Millisecond)
	x.mutex.Lock()
	defer x.mutex.Unlock()
	if x.abandoned && x.req.Number%2 == 1 {
		return context.Canceled
	}
	return nil
}

// A call within the resolver of the one before, some deep, each from a deeper stack.
func (s *Server) resolveChain(ctx context.Context, x *Execution) error {
	req := s.request("Chain.step", strings.TrimPrefix(x.req.Digest, "sha:"), 0, 0, s.resolveChain)
	if len(req.Digest) > 40 {
		return nil
	}
	if len(req.Digest) > 30 {
		req.DoNotCache = true // these stay on this goroutine
	}
	return deepen(30, func() error {
		_, err := s.cache.getOrInitCall(ctx, x.session.ID, x.session, req)
		return err
	})
}

// Not cached itself, but asks for what is.
func (s *Server) resolveVersion(ctx context.Context, x *Execution) error {
	_, err := s.cache.getOrInitCall(ctx, x.session.ID, x.session, s.rounds[x.req.Number].module)
	return err
}

func (s *Server) resolvePanics(ctx context.Context, x *Execution) error {
	time.Sleep(time.Millisecond)
	return deepen(5, func() error { panic("of the resolver") })
}

// ---- sessions ----

func (s *Server) queryLoad(ctx context.Context, session *Session, n int) {
	r := s.rounds[n]
	s.cache.getOrInitCall(ctx, session.ID, session, r.module)
	version := s.request("Query.version", "version", n, session.Number, s.resolveVersion)
	version.DoNotCache = true
	s.cache.getOrInitCall(ctx, session.ID, session, version)
	s.cache.getOrInitCall(ctx, session.ID, session, r.broken)
	r.directory.force(ctx)
	r.directory.force(ctx)
}

// protected calls what may panic.
func (s *Server) protected(ctx context.Context, session *Session, req *CallRequest) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	_, err = s.cache.getOrInitCall(ctx, session.ID, session, req)
	return err
}

func (s *Server) queryBuild(ctx context.Context, session *Session, n int) {
	r := s.rounds[n]
	if session.Number == 0 {
		s.cache.getOrInitCall(ctx, session.ID, session, r.image)
	} else {
		req := s.request("Image.digest", "digest", n, session.Number, s.resolveImageDigest)
		req.DoNotCache = true
		s.cache.getOrInitCall(ctx, session.ID, session, req)
	}
	r.service.get(ctx)
	run := s.request("Container.withExec", "exec", n, session.Number, s.resolveContainer)
	if session.Number == 1 {
		run.Resolve = s.resolveFails
	}
	s.cache.getOrInitCall(ctx, session.ID, session, run)
	panics := s.request("Module.panics", "panics", n, session.Number, s.resolvePanics)
	panics.DoNotCache = true
	s.protected(ctx, session, panics)
	s.cache.getOrInitCall(ctx, session.ID, session, s.request("Chain.step", "chain", n, session.Number, s.resolveChain))
}

func (s *Server) queryExport(ctx context.Context, session *Session, n int) {
	r := s.rounds[n]
	own := &NamedLock{Name: "own.lock"}
	for i := 0; i < 100; i++ {
		own.lock(ctx)
		own.mutex.Unlock()
	}
	r.cacheVolume.lock(ctx)
	time.Sleep(5 * time.Millisecond)
	r.cacheVolume.mutex.Unlock()
	if session.Number%2 == 1 {
		r.lazyMu.lock(ctx)
		time.Sleep(7 * time.Millisecond)
		r.lazyMu.mutex.Unlock()
	}
	if session.Number == 1+n%(len(s.sessions)-1) {
		slow := s.request("Container.slow", "slow", n, session.Number, s.resolveSlow)
		slow.Patience = 20 * time.Millisecond
		s.cache.getOrInitCall(ctx, session.ID, session, slow)
	}
}

func (s *Server) serveQuery(ctx context.Context, session *Session, name string, query func(context.Context, *Session, int), n int) {
	ctx, op := recBegin(ctx, "session_phase", "engine.query", name, session.ID)
	query(ctx, session, n)
	op.close("")
}

func (s *Server) serveSession(ctx context.Context, session *Session, b *barrier) {
	ctx, op := recBegin(ctx, "session_phase", "engine.session", session.ID, session.ID)
	names := [...]string{"load", "build", "export"}
	for n := range s.rounds {
		for i, query := range [...]func(context.Context, *Session, int){s.queryLoad, s.queryBuild, s.queryExport} {
			name := fmt.Sprintf("%s/%d/%s", session.ID, n, names[i])
			b.wait()
			s.serveQuery(ctx, session, name, query, n)
		}
	}
	op.close("")
}

func (s *Server) newRound(n int) *round {
	shared := func(field, name string, resolve func(context.Context, *Execution) error) *CallRequest {
		return &CallRequest{Field: field, Digest: fmt.Sprintf("sha:%s-%d", name, n), Resolve: resolve,
			Joiners: len(s.sessions) - 1, Number: n}
	}
	r := &round{name: fmt.Sprintf("round-%d", n)}
	r.module = shared("Module.load", "module", s.resolveModule)
	r.broken = shared("Module.broken", "broken", s.resolveBroken)
	r.image = shared("Image.pull", "image", s.resolveImage)
	for i := range r.part {
		r.part[i] = shared("Module.part", "part-"+string(rune('a'+i)), s.resolvePart)
	}
	r.directory = &Lazy{MadeBy: "Module.source", Name: r.name, session: s.sessions[0], number: n,
		evaluate: s.evaluateDirectory, done: make(chan struct{})}
	r.directory.waiters.Add(len(s.sessions))
	r.service = &Service{Host: fmt.Sprintf("svc-%d.local", n), session: s.sessions[0],
		delay: 3*time.Millisecond + s.someMs(n, 5, 8)}
	r.cacheVolume = &NamedLock{Name: "cachelock:modules"}
	r.lazyMu = &NamedLock{Name: "core.LazyState.LazyMu"}
	return r
}

func burner(stop *int32) {
	for atomic.LoadInt32(stop) == 0 {
		deepen(100, func() error { burn(5); return nil })
		runtime.Gosched()
	}
}

func number(i, otherwise, least, most int) int {
	v := otherwise
	if i < len(os.Args) {
		v, _ = strconv.Atoi(os.Args[i])
	}
	if v < least {
		v = least
	}
	if v > most {
		v = most
	}
	return v
}

func main() {
	var all sync.WaitGroup
	var stop int32
	s := &Server{cache: NewCache(), seed: uint64(number(3, 1, 0, 1<<30))}
	s.executor = &Executor{server: s}
	for i := 0; i < number(1, 6, 2, 32); i++ {
		s.sessions = append(s.sessions, &Session{ID: fmt.Sprintf("s%d", i), Number: i, server: s})
	}
	for i := 0; i < number(2, 4, 1, 64); i++ {
		s.rounds = append(s.rounds, s.newRound(i))
	}
	// From 1.23 on the first process that os starts is preceded by one with which it tries what the kernel can.
	exec.Command("/bin/true").Run()
	recStart(os.Getenv("ENGINE_WCPROF"))
	burners, _ := strconv.Atoi(os.Getenv("ENGINE_BURN"))
	for i := 0; i < burners; i++ {
		go burner(&stop)
	}
	b := &barrier{n: len(s.sessions)}
	b.cond = sync.NewCond(&b.mutex)
	for _, session := range s.sessions {
		all.Add(1)
		go func(session *Session) {
			defer all.Done()
			s.serveSession(context.Background(), session, b)
		}(session)
	}
	all.Wait()
	s.cache.running.Wait()
	time.Sleep(5 * time.Millisecond) // what has no one to wait for it returns
	atomic.StoreInt32(&stop, 1)
	if err := recDump(); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
	fmt.Printf("clock realtime=%d monotonic=%d\n", rec.epoch, rec.begin)
	fmt.Printf("%d sessions, %d rounds\n", len(s.sessions), len(s.rounds))
}
