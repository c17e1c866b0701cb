// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Package core is, of the engine's: what is evaluated once, services, and what a container needs around its run.
package core

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dagger/dagger/engine/wcprof"
	"github.com/moby/locker"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

var tracer = sdktrace.NewTracer()

// StartSpan begins the span of the op; one that nobody records is none of it.
func StartSpan(ctx context.Context, op *wcprof.Op, name string) trace.Span {
	_, span := tracer.Start(ctx, name)
	if sdktrace.IsRecording(span) {
		t, s := span.SpanContext().TraceID(), span.SpanContext().SpanID()
		op.Span(t[:], s[:])
	}
	return span
}

type lazyGroupOnce struct {
	mu   sync.Mutex
	done uint32
}

type LazyState struct {
	LazyMu           *sync.Mutex
	lazyInitComplete uint32
	groups           map[string]*lazyGroupOnce
}

func NewLazyState() LazyState {
	return LazyState{LazyMu: new(sync.Mutex), groups: map[string]*lazyGroupOnce{}}
}

//go:noinline
func (lazy *LazyState) Evaluate(ctx context.Context, typeName string, run func(context.Context) error) error {
	wcprof.Lock(ctx, lazy.LazyMu, "core.LazyState.LazyMu")
	defer lazy.LazyMu.Unlock()
	if atomic.LoadUint32(&lazy.lazyInitComplete) != 0 {
		return nil
	}
	err := run(ctx)
	atomic.StoreUint32(&lazy.lazyInitComplete, 1)
	return err
}

//go:noinline
func (lazy *LazyState) EvaluateGroup(ctx context.Context, typeName, group string, run func(context.Context) error) error {
	lazy.LazyMu.Lock()
	g := lazy.groups[group]
	if g == nil {
		g = &lazyGroupOnce{}
		lazy.groups[group] = g
	}
	lazy.LazyMu.Unlock()
	wcprof.Lock(ctx, &g.mu, "core.lazyGroupOnce.mu")
	defer g.mu.Unlock()
	if atomic.LoadUint32(&g.done) != 0 {
		return nil
	}
	err := run(ctx)
	atomic.StoreUint32(&g.done, 1)
	return err
}

// ---- services ----

type ServiceKey struct{ Digest, SessionID, ClientID, Kind, InstanceID string }

type RunningService struct{ Key ServiceKey }

type ServiceStartOpts struct{ IO *int }

type Startable interface {
	Start(ctx context.Context, running *RunningService, dig string, opts ServiceStartOpts) error
}

type startingService struct {
	done    chan struct{}
	waiters int
	op      *wcprof.Op
	err     error
}

type Services struct {
	l        sync.Mutex
	starting map[ServiceKey]*startingService
	running  map[ServiceKey]*RunningService
}

func NewServices() *Services {
	return &Services{starting: map[ServiceKey]*startingService{}, running: map[ServiceKey]*RunningService{}}
}

type Service struct {
	Digest string
	Delay  time.Duration
	Fails  bool
	Join   func() bool // the stand-in's own: it starts when so many wait
}

type startingKey struct{}

//go:noinline
func (svc *Service) Start(ctx context.Context, running *RunningService, dig string, opts ServiceStartOpts) error {
	ctx, op := wcprof.BeginOp(ctx, "service_start", "service.start", dig, wcprof.Current(ctx).Client())
	span := StartSpan(ctx, op, "service.start")
	defer span.End()
	ctx.Value(startingKey{}).(*startingService).op = op
	for i := 0; i < 1000 && !svc.Join(); i++ {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(svc.Delay)
	if svc.Fails {
		op.End("error")
		return errors.New("fails")
	}
	op.End("ok")
	return nil
}

func (ss *Services) Start(ctx context.Context, sessionID string, svc *Service) error {
	key := ServiceKey{Digest: svc.Digest, SessionID: sessionID, Kind: "shared"}
	_, release, err := ss.startWithKey(ctx, key, svc, ServiceStartOpts{}, false)
	if err == nil {
		release()
	}
	return err
}

//go:noinline
func (ss *Services) startWithKey(ctx context.Context, key ServiceKey, svc Startable, opts ServiceStartOpts,
	suppressDependencyExitPropagation bool) (_ *RunningService, release func(), err error) {
	ss.l.Lock()
	starting, running := ss.starting[key], ss.running[key]
	if running != nil {
		ss.l.Unlock()
		return running, func() {}, nil
	}
	if starting != nil {
		starting.waiters++
		ss.l.Unlock()
		start := wcprof.Now()
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-starting.done:
		}
		wcprof.Waited(ctx, "service", &starting.op, "", start)
		return &RunningService{Key: key}, func() {}, starting.err
	}
	starting = &startingService{done: make(chan struct{})}
	ss.starting[key] = starting
	ss.l.Unlock()
	defer close(starting.done)
	running = &RunningService{Key: key}
	err = svc.Start(context.WithValue(ctx, startingKey{}, starting), running, key.Digest, opts)
	starting.err = err
	ss.l.Lock()
	delete(ss.starting, key)
	if err == nil {
		ss.running[key] = running
	}
	ss.l.Unlock()
	return running, func() {}, err
}

type sessionKey struct{}

func ContextWithSession(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, sessionKey{}, id)
}

//go:noinline
func (ss *Services) Get(ctx context.Context, dig string, clientSpecific bool) (*RunningService, error) {
	session, _ := ctx.Value(sessionKey{}).(string)
	key := ServiceKey{Digest: dig, SessionID: session, Kind: "shared"}
	for {
		ss.l.Lock()
		starting, running := ss.starting[key], ss.running[key]
		if starting != nil {
			starting.waiters++
		}
		ss.l.Unlock()
		if running != nil {
			return running, nil
		}
		if starting == nil {
			return nil, errors.New("not running")
		}
		start := wcprof.Now()
		<-starting.done
		wcprof.Waited(ctx, "service", &starting.op, "", start)
	}
}

// Waiters is the stand-in's own.
func (ss *Services) Waiters(sessionID, dig string) int {
	ss.l.Lock()
	defer ss.l.Unlock()
	if s := ss.starting[ServiceKey{Digest: dig, SessionID: sessionID, Kind: "shared"}]; s != nil {
		return s.waiters
	}
	return 0
}

// ---- containers ----

var engineLocker = locker.New()

type Container struct{ Caches []string }

//go:noinline
func lockMountedCaches(ctx context.Context, mounts []string) (func(), error) {
	for _, key := range mounts {
		start := wcprof.Now()
		engineLocker.Lock(key)
		if engineLocker.Waited(key) {
			wcprof.Waited(ctx, "lock", nil, "cachelock:"+key, start)
		}
	}
	return func() {
		for _, key := range mounts {
			engineLocker.Unlock(key)
		}
	}, nil
}

type materializedExecPlan struct{ Mounts []string }

//go:noinline
func prepareMounts(ctx context.Context, container *Container) (materializedExecPlan, error) {
	_, op := wcprof.BeginOp(ctx, "internal", "container.prepareMounts", "", wcprof.Current(ctx).Client())
	time.Sleep(time.Millisecond)
	op.End("ok")
	return materializedExecPlan{Mounts: container.Caches}, nil
}

type ContainerExecState struct {
	LazyState
	Run func(ctx context.Context) error
}

//go:noinline
func (state *ContainerExecState) Evaluate(ctx context.Context, container *Container) (rerr error) {
	ctx, op := wcprof.BeginOp(ctx, "internal", "ContainerExecState.Evaluate", "", wcprof.Current(ctx).Client())
	rerr = state.LazyState.Evaluate(ctx, "Container.withExec", func(ctx context.Context) error {
		release, _ := lockMountedCaches(ctx, container.Caches)
		defer release()
		prepareMounts(ctx, container)
		return state.Run(ctx)
	})
	op.EndErr(rerr)
	return rerr
}

// ---- schemas ----

type SchemaBuilder struct{ Name string }

//go:noinline
func (b *SchemaBuilder) Schema(ctx context.Context) (interface{}, error) {
	time.Sleep(time.Millisecond)
	return b, nil
}
