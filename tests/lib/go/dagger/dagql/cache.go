// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Package dagql is, of the engine's, the cache of calls: single flight, lazy values, publication. Its functions have
// the engine's names and arguments, and wait where its do.
package dagql

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dagger/dagger/engine/wcprof"
)

type Cache struct {
	callsMu      sync.Mutex
	ongoingCalls map[callConcurrencyKeys]*ongoingCall
	completed    map[string]*sharedResult
}

type recorded struct {
	op      *wcprof.Op
	request *CallRequest
}

func NewCache() *Cache {
	return &Cache{ongoingCalls: map[callConcurrencyKeys]*ongoingCall{}, completed: map[string]*sharedResult{}}
}

// NewRequest is the stand-in's own: a request whose digest is known.
func NewRequest(field, digest string, receiver *ResultCallRef) *CallRequest {
	return &CallRequest{ResultCall: &ResultCall{Kind: "field", Field: field, Receiver: receiver, recipeDigest: digest,
		Type: &ResultCallType{NamedType: "Container"}}, ConcurrencyKey: "k"}
}

func RefTo(res AnyResult) *ResultCallRef {
	shared := res.cacheSharedResult()
	return &ResultCallRef{ResultID: uint64(shared.id), shared: shared}
}

func (c *Cache) GetOrInitCall(ctx context.Context, sessionID string, resolver TypeResolver, req *CallRequest,
	fn func(context.Context) (AnyResult, error)) (AnyResult, error) {
	return c.getOrInitCall(ctx, sessionID, resolver, req, fn)
}

//go:noinline
func (c *Cache) getOrInitCall(ctx context.Context, sessionID string, resolver TypeResolver, req *CallRequest,
	fn func(context.Context) (AnyResult, error)) (AnyResult, error) {
	ctx, op := wcprof.BeginOp(ctx, "call", profCallClass(req.ResultCall), "", profClientID(ctx))
	res, joined, err := c.getOrInitCallInner(ctx, sessionID, resolver, req, fn, op)
	switch {
	case err != nil:
		op.End("error")
	case req.DoNotCache:
		op.End("do_not_cache")
	case res.HitCache():
		op.End("hit")
	case joined:
		op.End("joined")
	default:
		op.End("executed")
	}
	return res, err
}

//go:noinline
func (c *Cache) getOrInitCallInner(ctx context.Context, sessionID string, resolver TypeResolver, req *CallRequest,
	fn func(context.Context) (AnyResult, error), op *wcprof.Op) (res AnyResult, joined bool, err error) {
	if req.DoNotCache {
		res, err = fn(ctx)
		return res, false, err
	}
	op.SetIdent(req.recipeDigest)
	hit, found, _ := c.lookupCacheForRequest(ctx, sessionID, resolver, req, req.recipeDigest, "self", nil, nil)
	if found {
		return hit, false, nil
	}
	keys := callConcurrencyKeys{req.recipeDigest, req.ConcurrencyKey}
	c.callsMu.Lock()
	if oc := c.ongoingCalls[keys]; oc != nil {
		oc.waiters++
		c.callsMu.Unlock()
		res, err = c.wait(ctx, sessionID, resolver, oc, req, true)
		return res, true, err
	}
	oc := &ongoingCall{callConcurrencyKeys: keys, waitCh: make(chan struct{}), waiters: 1, sharedWorkCtx: ctx}
	oc.request = req
	c.ongoingCalls[keys] = oc
	go func() {
		var err error
		execCtx, op := wcprof.BeginOp(oc.sharedWorkCtx, "call_exec", profCallClass(oc.request.ResultCall),
			oc.callConcurrencyKeys.callKey, profClientID(oc.sharedWorkCtx))
		oc.op = op
		defer func() { op.EndErr(err) }() // at the goroutine's very end, as a tracer sees it
		defer close(oc.waitCh)
		val, err := fn(execCtx)
		oc.err = err
		oc.val = val
		c.callsMu.Lock()
		noWaiters := oc.waiters == 0
		c.callsMu.Unlock()
		if err != nil || noWaiters {
			oc.releaseSharedWorkLeases(context.Background())
		}
	}()
	c.callsMu.Unlock()
	res, err = c.wait(ctx, sessionID, resolver, oc, req, false)
	return res, false, err
}

//go:noinline
func (oc *ongoingCall) releaseSharedWorkLeases(ctx context.Context) error { return ctx.Err() }

//go:noinline
func (c *Cache) lookupCacheForRequest(ctx context.Context, sessionID string, resolver TypeResolver, req *CallRequest,
	requestDigest string, requestSelf string, requestInputs []string, requestInputRefs []*ResultCallRef) (AnyResult, bool, error) {
	c.callsMu.Lock()
	defer c.callsMu.Unlock()
	shared := c.completed[requestDigest]
	if shared == nil {
		return nil, false, nil
	}
	return Result{shared: shared, hitCache: true}, true, nil
}

func (c *Cache) wait(ctx context.Context, sessionID string, resolver TypeResolver, oc *ongoingCall, req *CallRequest,
	joined bool) (AnyResult, error) {
	reason := "call_exec"
	if joined {
		reason = "singleflight"
	}
	start := wcprof.Now()
	select {
	case <-oc.waitCh:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	wcprof.Waited(ctx, reason, &oc.op, "", start)
	if oc.err != nil {
		c.callsMu.Lock()
		delete(c.ongoingCalls, oc.callConcurrencyKeys)
		c.callsMu.Unlock()
		return nil, oc.err
	}
	oc.initCompletedResultOnce.Do(func() {
		oc.initCompletedResultErr = c.initCompletedResult(ctx, resolver, oc, req, sessionID)
		oc.releaseSharedWorkLeases(context.Background())
	})
	return Result{shared: oc.val.cacheSharedResult()}, oc.initCompletedResultErr
}

//go:noinline
func (c *Cache) initCompletedResult(ctx context.Context, resolver TypeResolver, oc *ongoingCall, req *CallRequest,
	sessionID string) error {
	_, op := wcprof.BeginOp(ctx, "internal", "dagql.publishResult", "", "")
	time.Sleep(2 * time.Millisecond)
	c.callsMu.Lock()
	c.completed[oc.callConcurrencyKeys.callKey] = oc.val.cacheSharedResult()
	delete(c.ongoingCalls, oc.callConcurrencyKeys)
	c.callsMu.Unlock()
	op.End("ok")
	return nil
}

// Waiters is the stand-in's own: how many wait for the call.
func (c *Cache) Waiters(req *CallRequest) int {
	c.callsMu.Lock()
	defer c.callsMu.Unlock()
	if oc := c.ongoingCalls[callConcurrencyKeys{req.recipeDigest, req.ConcurrencyKey}]; oc != nil {
		return oc.waiters
	}
	return 0
}

// ---- lazy values ----

type PartTaskToken struct{ op *wcprof.Op }

type lazyTaskContinuation struct{}

type lazyEvalAttempt struct {
	token   *PartTaskToken
	done    chan struct{}
	waiters int
	err     error
}

// NewLazy is the stand-in's own: a result that a call makes, whose value comes later.
func NewLazy(req *CallRequest, eval func(context.Context) error) AnyResult {
	return Result{shared: newSharedResult(req.ResultCall, eval)}
}

func NewResult(req *CallRequest) AnyResult { return NewLazy(req, nil) }

func (c *Cache) Evaluate(ctx context.Context, res AnyResult) error { return c.evaluateOne(ctx, res) }

//go:noinline
func (c *Cache) evaluateOne(ctx context.Context, res AnyResult) error {
	return c.runLazyTask(ctx, res.cacheSharedResult())
}

//go:noinline
func (c *Cache) runLazyTask(ctx context.Context, shared *sharedResult) error {
	shared.lazyMu.Lock()
	if shared.complete {
		shared.lazyMu.Unlock()
		return nil
	}
	attempt := shared.attempt
	if attempt == nil {
		attempt = &lazyEvalAttempt{token: &PartTaskToken{}, done: make(chan struct{})}
		shared.attempt = attempt
		eval := shared.lazyEval
		go func() {
			_, _, err := c.runLazyEvalBody(ctx, shared, eval, attempt.token, nil)
			shared.lazyMu.Lock()
			attempt.err = err
			shared.complete = err == nil
			shared.lazyMu.Unlock()
			close(attempt.done)
		}()
	}
	attempt.waiters++
	shared.lazyMu.Unlock()
	start := wcprof.Now()
	_, err := c.waitForLazyEvaluation(ctx, shared, attempt)
	wcprof.Waited(ctx, "lazy", &attempt.token.op, "", start)
	return err
}

//go:noinline
func (c *Cache) runLazyEvalBody(callbackCtx context.Context, shared *sharedResult, lazyEval func(context.Context) error,
	token *PartTaskToken, continuation *lazyTaskContinuation) (context.Context, bool, error) {
	ctx, op := wcprof.BeginOp(callbackCtx, "lazy", profCallClass(shared.resultCall), "", profClientID(callbackCtx))
	token.op = op
	err := lazyEval(ctx)
	if err == nil {
		err = c.syncResultSnapshotLeases(ctx, shared)
	}
	op.EndErr(err)
	return ctx, err == nil, err
}

func (c *Cache) waitForLazyEvaluation(ctx context.Context, shared *sharedResult, attempt *lazyEvalAttempt) (uint8, error) {
	select {
	case <-attempt.done:
		shared.lazyMu.Lock()
		err := attempt.err
		attempt.waiters--
		shared.lazyMu.Unlock()
		return 0, err
	case <-ctx.Done():
		return 0, errors.New("given up")
	}
}

func (c *Cache) SyncResultSnapshotOwnerLeases(ctx context.Context, res AnyResult) error {
	return c.syncResultSnapshotLeases(ctx, res.cacheSharedResult())
}

//go:noinline
func (c *Cache) syncResultSnapshotLeases(ctx context.Context, res *sharedResult) error {
	wcprof.Lock(ctx, &res.leaseSyncMu, "dagql.sharedResult.leaseSyncMu")
	defer res.leaseSyncMu.Unlock()
	time.Sleep(2 * time.Millisecond)
	return nil
}

// Prune is a phase of the stop, and of nothing when it is done at another time.
//
//go:noinline
func (c *Cache) Prune(ctx context.Context, policies []string) (int, error) {
	var op *wcprof.Op
	if wcprof.Current(ctx) != nil {
		_, op = wcprof.BeginOp(ctx, "internal", "engine.stop.Cache.Prune", "", "")
	}
	time.Sleep(2 * time.Millisecond)
	op.End("")
	return len(policies), nil
}

// ErrUnclean is what Close finds.
var ErrUnclean = errors.New("unclean")

//go:noinline
func (c *Cache) Close(ctx context.Context) error {
	_, op := wcprof.BeginOp(ctx, "internal", "engine.stop.Cache.Close", "", "")
	time.Sleep(3 * time.Millisecond)
	op.EndErr(ErrUnclean)
	return ErrUnclean
}
