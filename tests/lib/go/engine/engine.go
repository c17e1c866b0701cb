// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

package main

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"time"
)

// An engine of the Dagger kind, small: a cache of calls with single flight, lazy
// values, services, named locks, transfers that end in another goroutine, an
// executor of processes. Its methods get what an engine's do.

type Session struct {
	ID     string
	Number int
	server *Server
}

type CallRequest struct {
	Field      string // "Container.withExec"
	Digest     string // of the whole recipe: the cache's key
	DoNotCache bool
	Patience   time.Duration // of the caller; 0: for ever
	Joiners    int           // the resolver waits until so many have joined
	Number     int
	Resolve    func(ctx context.Context, x *Execution) error
}

// Execution is one run of a request's resolver, shared by all who ask for it.
type Execution struct {
	req     *CallRequest
	session *Session // of who came first
	done    chan struct{}
	err     error

	mutex     sync.Mutex
	waiters   int
	joined    *sync.Cond
	abandoned bool
	op        *recOp
}

type Outcome int

const (
	Executed Outcome = iota
	Hit
	Joined
	NotCached
	Failed
	Canceled
)

func (o Outcome) String() string {
	return [...]string{"executed", "hit", "joined", "do_not_cache", "error", "canceled"}[o]
}

func okOrError(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return "canceled"
	}
	return "error"
}

type Cache struct {
	mutex   sync.Mutex
	calls   map[string]*Execution
	results map[string]*Execution
	named   *sync.Cond
	running sync.WaitGroup
}

func NewCache() *Cache {
	c := &Cache{calls: map[string]*Execution{}, results: map[string]*Execution{}}
	c.named = sync.NewCond(&c.mutex)
	return c
}

func newExecution(s *Session, req *CallRequest) *Execution {
	x := &Execution{req: req, session: s, done: make(chan struct{})}
	x.joined = sync.NewCond(&x.mutex)
	return x
}

// gather waits until n callers wait for the execution, at most a second.
func (x *Execution) gather(n int) {
	late := time.AfterFunc(time.Second, func() {
		x.mutex.Lock()
		x.waiters = n
		x.mutex.Unlock()
		x.joined.Signal()
	})
	x.mutex.Lock()
	for x.waiters < n {
		x.joined.Wait()
	}
	x.mutex.Unlock()
	late.Stop()
}

// getOrInitCall gives a call's outcome: from the cache, by joining who executes it, or by executing it.
func (c *Cache) getOrInitCall(ctx context.Context, sessionID string, s *Session, req *CallRequest) (how Outcome, err error) {
	ctx, op := recBegin(ctx, "call", req.Field, req.Digest, sessionID)
	how = Canceled // if it panics
	defer func() { op.close(how.String()) }()
	if req.DoNotCache {
		how, err = c.callUncached(ctx, s, req)
	} else {
		how, err = c.callCached(ctx, s, req)
	}
	return how, err
}

func (c *Cache) callUncached(ctx context.Context, s *Session, req *CallRequest) (Outcome, error) {
	if err := req.Resolve(ctx, newExecution(s, req)); err != nil {
		return Failed, err
	}
	return NotCached, nil
}

func (c *Cache) callCached(ctx context.Context, s *Session, req *CallRequest) (Outcome, error) {
	c.mutex.Lock()
	x, joined := c.calls[req.Digest]
	if !joined {
		x = newExecution(s, req)
		c.calls[req.Digest] = x
	}
	c.mutex.Unlock()
	select {
	case <-x.done:
		if x.err == nil {
			return Hit, nil
		}
	default:
	}
	if !joined {
		c.running.Add(1)
		go func() {
			defer c.running.Done()
			c.execute(ctx, x)
		}()
	}
	waitCtx := ctx
	if req.Patience != 0 {
		limited, cancel := context.WithTimeout(ctx, req.Patience)
		defer cancel()
		waitCtx = limited
	}
	err := c.wait(waitCtx, x, joined)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Canceled, err
	case err != nil:
		return Failed, err
	case joined:
		return Joined, nil
	}
	return Executed, nil
}

// execute runs a resolver once, for all who wait.
func (c *Cache) execute(ctx context.Context, x *Execution) (status int) {
	ctx, op := recBegin(ctx, "call_exec", x.req.Field, x.req.Digest, x.session.ID)
	x.op = op
	err := x.req.Resolve(ctx, x)
	if err != nil {
		c.mutex.Lock()
		delete(c.calls, x.req.Digest)
		c.mutex.Unlock()
	} else {
		c.publish(ctx, x)
	}
	x.err = err
	close(x.done)
	op.close(okOrError(err))
	return statusOf(err)
}

// statusOf is 0, 1 for an error, 2 if canceled.
func statusOf(err error) int {
	switch okOrError(err) {
	case "ok":
		return 0
	case "error":
		return 1
	}
	return 2
}

func (c *Cache) wait(ctx context.Context, x *Execution, joined bool) error {
	start := monotonic()
	err := x.await(ctx)
	reason := "call_exec"
	if joined {
		reason = "singleflight"
	}
	recWaited(ctx, reason, &x.op, "", start)
	return err
}

func (x *Execution) await(ctx context.Context) error {
	x.mutex.Lock()
	x.waiters++
	x.mutex.Unlock()
	x.joined.Signal()
	select {
	case <-x.done:
		return x.err
	case <-ctx.Done():
		x.mutex.Lock()
		x.abandoned = true
		x.mutex.Unlock()
		return ctx.Err()
	}
}

func (c *Cache) publish(ctx context.Context, x *Execution) {
	_, op := recBegin(ctx, "internal", "dagql.publishResult", x.req.Digest, x.session.ID)
	time.Sleep(time.Millisecond)
	op.close("")
}

// nameResult lets others refer to an execution by name before it has ended.
func (c *Cache) nameResult(x *Execution, name string) {
	c.mutex.Lock()
	c.results[name] = x
	c.mutex.Unlock()
	c.named.Broadcast()
}

func (c *Cache) awaitResult(ctx context.Context, name string) error {
	start := monotonic()
	c.mutex.Lock()
	for c.results[name] == nil {
		c.named.Wait()
	}
	x := c.results[name]
	c.mutex.Unlock()
	<-x.done
	recWaited(ctx, "call_exec", &x.op, "", start)
	return x.err
}

// Lazy is evaluated by the first who needs it; all wait for that.
type Lazy struct {
	MadeBy   string // field of the call that made it
	Name     string
	session  *Session
	number   int
	evaluate func(ctx context.Context, l *Lazy) error
	once     sync.Once
	mutex    sync.Mutex
	waiters  sync.WaitGroup
	done     chan struct{}
	err      error
	op       *recOp
}

func (l *Lazy) force(ctx context.Context) error {
	select {
	case <-l.done:
		return l.err
	default:
	}
	l.once.Do(func() {
		l.session.server.cache.running.Add(1)
		go l.evaluateOne(ctx)
	})
	return l.wait(ctx)
}

func (l *Lazy) evaluateOne(ctx context.Context) (status int) {
	defer l.session.server.cache.running.Done()
	ctx, op := recBegin(ctx, "lazy", l.MadeBy, l.Name, l.session.ID)
	l.op = op
	l.err = l.evaluate(ctx, l)
	close(l.done)
	op.close(okOrError(l.err))
	return statusOf(l.err)
}

func (l *Lazy) wait(ctx context.Context) error {
	start := monotonic()
	l.waiters.Done()
	<-l.done
	recWaited(ctx, "lazy", &l.op, "", start)
	return l.err
}

type Service struct {
	Host    string
	session *Session
	delay   time.Duration
	once    sync.Once
	ready   sync.WaitGroup
	op      *recOp
}

func (s *Service) get(ctx context.Context) {
	s.once.Do(func() {
		s.ready.Add(1)
		go s.start(ctx)
	})
	s.wait(ctx)
}

func (s *Service) start(ctx context.Context) {
	_, op := recBegin(ctx, "service_start", "Service.start", s.Host, s.session.ID)
	s.op = op
	time.Sleep(s.delay)
	s.ready.Done()
	op.close("ok")
}

func (s *Service) wait(ctx context.Context) {
	start := monotonic()
	s.ready.Wait()
	recWaited(ctx, "service", &s.op, "", start)
}

// NamedLock tells of a wait only if there was one.
type NamedLock struct {
	Name  string
	mutex sync.Mutex
}

func (l *NamedLock) lock(ctx context.Context) {
	if l.mutex.TryLock() {
		return
	}
	start := monotonic()
	l.mutex.Lock()
	recWaited(ctx, "lock", nil, l.Name, start)
}

// Transfer begins in one goroutine and ends in another.
type Transfer struct {
	Ref  string
	done chan error
	op   *recOp
}

//go:noinline
func (t *Transfer) begin(ctx context.Context) {
	t.op = recOpen(ctx, "io", "engine.transfer", t.Ref, "")
}

//go:noinline
func (t *Transfer) end(err error) {
	t.op.close(okOrError(err))
	t.done <- err
}

func (t *Transfer) wait(ctx context.Context) error {
	start := monotonic()
	err := <-t.done
	recWaited(ctx, "io", &t.op, "", start)
	return err
}

// Process is what a container run is here.
type Process struct {
	ID      string
	Args    []string
	session *Session
	cmd     *exec.Cmd
	done    chan struct{}
	err     error
	op      *recOp
}

type Executor struct{ server *Server }

func (e *Executor) run(ctx context.Context, p *Process) error {
	p.done = make(chan struct{})
	go e.exec(ctx, p)
	return e.wait(ctx, p)
}

func (e *Executor) exec(ctx context.Context, p *Process) (status int) {
	ctx, op := recBegin(ctx, "exec", "Container.exec", p.ID, p.session.ID)
	p.op = op
	e.setup(ctx, p, "exec.setupNetwork", time.Millisecond)
	e.setup(ctx, p, "exec.setupRootfs", 2*time.Millisecond)
	p.err = e.start(ctx, p)
	if p.err == nil {
		p.err = e.reap(ctx, p)
	}
	close(p.done)
	op.close(okOrError(p.err))
	return statusOf(p.err)
}

func (e *Executor) setup(ctx context.Context, p *Process, phase string, d time.Duration) {
	_, op := recBegin(ctx, "exec_phase", phase, p.ID, p.session.ID)
	time.Sleep(d)
	op.close("")
}

func (e *Executor) start(ctx context.Context, p *Process) error {
	_, op := recBegin(ctx, "exec_phase", "exec.containerStart", p.ID, p.session.ID)
	p.cmd = exec.Command(p.Args[0], p.Args[1:]...)
	err := p.cmd.Start()
	if err == nil {
		recProcess(p.op, p.cmd.Process.Pid)
	}
	op.close(okOrError(err))
	return err
}

func (e *Executor) reap(ctx context.Context, p *Process) error {
	_, op := recBegin(ctx, "exec_phase", "exec.processRun", p.ID, p.session.ID)
	err := p.cmd.Wait()
	op.close("ok")
	return err
}

func (e *Executor) wait(ctx context.Context, p *Process) error {
	start := monotonic()
	<-p.done
	recWaited(ctx, "exec", &p.op, "", start)
	return p.err
}
