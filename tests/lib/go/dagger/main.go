// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// The Dagger engine's stand-in: what its own recorder has hooks for, by functions of the engine's names, arguments and
// memory layouts, small. With ENGINE_WCPROF it records itself. Usage: engine SESSIONS ROUNDS [COMMAND...]
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/dagger/dagger/core"
	"github.com/dagger/dagger/dagql"
	"github.com/dagger/dagger/engine"
	"github.com/dagger/dagger/engine/engineutil"
	"github.com/dagger/dagger/engine/server"
	"github.com/dagger/dagger/engine/wcprof"
	telemetry "github.com/dagger/otel-go"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
)

type types struct{}

func (types) ObjectType(string) bool { return true }

type round struct {
	number    int
	module    *dagql.CallRequest
	broken    *dagql.CallRequest
	directory dagql.AnyResult
	lazies    core.LazyState
	groups    core.LazyState
	service   *core.Service
	failing   *core.Service
	met       sync.WaitGroup
}

type engineProgram struct {
	server   *server.Server
	cache    *dagql.Cache
	services *core.Services
	client   *engineutil.Client
	sessions int
	command  []string
}

func ms(n int) { time.Sleep(time.Duration(n) * time.Millisecond) }

// until waits for what the others do, at most a second.
func until(ready func() bool) {
	for i := 0; i < 1000 && !ready(); i++ {
		ms(1)
	}
}

func (e *engineProgram) call(ctx context.Context, req *dagql.CallRequest, fn func(context.Context) (dagql.AnyResult, error)) (dagql.AnyResult, error) {
	own := *req // each call has its own
	return e.cache.GetOrInitCall(ctx, "session", types{}, &own, fn)
}

func request(field, digest string, args ...interface{}) *dagql.CallRequest {
	return dagql.NewRequest(field, fmt.Sprintf("sha256:"+digest, args...), nil)
}

// Who comes first executes it when all others have joined.
func (e *engineProgram) shared(req *dagql.CallRequest, err error) func(context.Context) (dagql.AnyResult, error) {
	return func(ctx context.Context) (dagql.AnyResult, error) {
		until(func() bool { return e.cache.Waiters(req) >= e.sessions })
		ms(3)
		return dagql.NewResult(req), err
	}
}

func (e *engineProgram) newRound(n int) *round {
	r := &round{number: n, module: request("moduleSource", "module-%d", n), broken: request("broken", "broken-%d", n),
		lazies: core.NewLazyState(), groups: core.NewLazyState()}
	dir := request("directory", "directory-%d", n)
	dir.Receiver = &dagql.ResultCallRef{Call: &dagql.ResultCall{Type: &dagql.ResultCallType{NamedType: "Container"}}}
	r.directory = dagql.NewLazy(dir, func(ctx context.Context) error {
		_, err := e.call(ctx, request("entries", "entries-%d", n), e.simple)
		ms(4)
		return err
	})
	r.service = &core.Service{Digest: fmt.Sprintf("xxh3:service-%d", n), Delay: 3 * time.Millisecond}
	r.service.Join = func() bool { return e.services.Waiters("session", r.service.Digest) >= e.sessions-1 }
	r.failing = &core.Service{Digest: fmt.Sprintf("xxh3:failing-%d", n), Fails: true}
	r.failing.Join = func() bool { return e.services.Waiters("session", r.failing.Digest) >= e.sessions-1 }
	r.met.Add(e.sessions)
	return r
}

func (e *engineProgram) simple(ctx context.Context) (dagql.AnyResult, error) {
	ms(1)
	return dagql.NewResult(request("simple", "simple")), nil
}

// A container is run by a lazy value's evaluation; its process is a client too, which asks for what is there.
func (e *engineProgram) withExec(ctx context.Context, r *round, s int) {
	client := fmt.Sprintf("c%d-%d", s, r.number)
	req := request("withExec", "exec-%s", client)
	switch s % 3 { // whose field it is: a result's, of a request not yet made, of nothing
	case 0:
		req.Receiver, req.ReceiverTypeName = dagql.RefTo(r.directory), "Container"
	case 1:
		req.Receiver = &dagql.ResultCallRef{Call: &dagql.ResultCall{Type: &dagql.ResultCallType{NamedType: "Container"}}}
		req.Module = &dagql.ResultCallModule{Name: "go"}
	case 2:
		req.ReceiverTypeName = "Query"
	}
	args, md := e.command, &engineutil.ExecutionMetadata{CallDigest: req.Field + ":" + client}
	if s == 1 {
		args = []string{"/bin/false"}
	}
	if s == 2 {
		md = nil
	}
	state := &core.ContainerExecState{LazyState: core.NewLazyState(), Run: func(ctx context.Context) error {
		nested := &engine.ClientMetadata{ClientID: "nested-" + client, SessionID: "session"}
		if s == 0 {
			nested = nil
		}
		return e.client.Run(ctx, "", engineutil.Mount{Selector: "/"}, nil, engineutil.ProcessInfo{Args: args}, nil,
			trace.SpanContext{}, md, "session", client, nested)
	}}
	res, _ := e.call(ctx, req, func(ctx context.Context) (dagql.AnyResult, error) {
		return dagql.NewLazy(req, func(ctx context.Context) error {
			return state.Evaluate(ctx, &core.Container{Caches: []string{fmt.Sprintf("cache-volume:%d", r.number)}})
		}), nil
	})
	e.cache.Evaluate(ctx, res)
}

func (e *engineProgram) answer(ctx context.Context, r *round, s int) {
	e.call(ctx, r.module, e.shared(r.module, nil))
	e.call(ctx, r.broken, e.shared(r.broken, errors.New("broken")))
	version := request("version", "none")
	version.DoNotCache = true
	e.call(ctx, version, e.simple)
	r.met.Done()
	r.met.Wait()
	e.cache.Evaluate(ctx, r.directory)
	e.cache.SyncResultSnapshotOwnerLeases(ctx, r.directory)
	r.lazies.Evaluate(ctx, "Container.from", func(context.Context) error { ms(3); return nil })
	r.groups.EvaluateGroup(ctx, "Container.from", "rootfs", func(context.Context) error { ms(3); return nil })
	if s == e.sessions-1 {
		until(func() bool { return e.services.Waiters("session", r.service.Digest) >= e.sessions-2 })
		e.services.Get(ctx, r.service.Digest, false)
	} else {
		e.services.Start(ctx, "session", r.service)
	}
	e.services.Start(ctx, "session", r.service) // it runs by now
	e.services.Start(ctx, "session", r.failing)
	e.withExec(ctx, r, s)
}

func (e *engineProgram) serveNested(md *engine.ClientMetadata) {
	e.server.Query(md, func(ctx context.Context) {
		e.call(ctx, request("nested", "nested-%s", md.ClientID), e.simple)
	})
}

func (e *engineProgram) run(r *round) {
	var all sync.WaitGroup
	for s := 0; s < e.sessions; s++ {
		all.Add(1)
		go func(s int) {
			defer all.Done()
			md := &engine.ClientMetadata{ClientID: fmt.Sprintf("c%d-%d", s, r.number), SessionID: "session"}
			e.server.Query(md, func(ctx context.Context) { e.answer(ctx, r, s) })
		}(s)
	}
	all.Wait()
	late := &engine.ClientMetadata{ClientID: fmt.Sprintf("late-%d", r.number), SessionID: "session"}
	e.server.Query(late, func(ctx context.Context) { e.call(ctx, r.module, e.simple) })
}

// As the engine's main does when it was told to stop.
func (e *engineProgram) stop() {
	ctx := wcprof.Detached()
	e.cache.Prune(ctx, nil)
	e.server.BeginGracefulStop()
	_, op := wcprof.BeginOp(ctx, "internal", "grpc.GracefulStop", "", "")
	new(grpc.Server).GracefulStop()
	op.End("")
	e.server.GracefulStop(ctx)
	_, op = wcprof.BeginOp(ctx, "internal", "engine.exit.metrics", "", "")
	closeResourceMetrics(ctx)
	op.End("")
	_, op = wcprof.BeginOp(ctx, "internal", "engine.exit.telemetry", "", "")
	telemetry.Close()
	op.End("")
}

//go:noinline
func closeResourceMetrics(ctx context.Context) { ms(1) }

func number(i, otherwise int) int {
	if i < len(os.Args) {
		if v, err := strconv.Atoi(os.Args[i]); err == nil {
			return v
		}
	}
	return otherwise
}

func main() {
	e := &engineProgram{cache: dagql.NewCache(), services: core.NewServices(), sessions: number(1, 4),
		command: []string{"/bin/sleep", "0.02"}}
	e.server = server.NewServer(e.cache)
	e.client = &engineutil.Client{Serve: e.serveNested}
	if len(os.Args) > 3 {
		e.command = os.Args[3:]
	}
	// From 1.23 on the first process that os starts is preceded by one with which it tries what the kernel can.
	exec.Command("/bin/true").Run()
	wcprof.Start(os.Getenv("ENGINE_WCPROF"))
	for n := 0; n < number(2, 3); n++ {
		e.run(e.newRound(n))
	}
	e.stop()
	ms(5)
	if err := wcprof.Dump(); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
	realtime, monotonic := wcprof.Clock()
	fmt.Printf("clock realtime=%d monotonic=%d\n", realtime, monotonic)
}
