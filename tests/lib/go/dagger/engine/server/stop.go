// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

package server

import (
	"context"
	"time"

	"github.com/dagger/dagger/dagql"
	"github.com/dagger/dagger/engine/wcprof"
)

// NewServer is the stand-in's own: a server with one session.
func NewServer(cache *dagql.Cache) *Server {
	return &Server{engineCache: cache, session: &daggerSession{attached: make(chan struct{})}}
}

//go:noinline
func (srv *Server) BeginGracefulStop() { srv.beginGracefulStop(wcprof.Detached()) }

func (srv *Server) beginGracefulStop(ctx context.Context) {
	_, op := wcprof.BeginOp(ctx, "internal", "engine.stop.signal", "", "")
	time.Sleep(time.Millisecond)
	op.End("")
}

// GracefulStop does some of its work itself, some by closures, and some of those in goroutines.
//
//go:noinline
func (srv *Server) GracefulStop(ctx context.Context) error {
	ctx, stop := wcprof.BeginOp(ctx, "internal", "engine.stop", "", "")
	defer stop.End("")
	srv.removeDaggerSession(ctx, srv.session)
	err := srv.stopPhase(ctx, func(ctx context.Context) error {
		ctx, op := wcprof.BeginClosure(ctx, "engine.stop.")
		defer op.End("")
		srv.engineCache.Prune(ctx, nil)
		return srv.engineCache.Close(ctx)
	})
	closed := make(chan struct{})
	go func() {
		ctx, op := wcprof.BeginClosure(ctx, "engine.stop.")
		defer op.End("")
		defer close(closed)
		srv.shutdown(ctx)
	}()
	<-closed
	return err
}

//go:noinline
func (srv *Server) stopPhase(ctx context.Context, run func(context.Context) error) error {
	return run(ctx)
}

// No phase of its own, for nothing knows it.
//
//go:noinline
func (srv *Server) shutdown(ctx context.Context) {
	time.Sleep(time.Millisecond)
	srv.stopRemoteCacheIntegration(ctx)
}

//go:noinline
func (srv *Server) removeDaggerSession(ctx context.Context, sess *daggerSession) error {
	_, op := wcprof.BeginOp(ctx, "internal", "engine.stop.removeDaggerSession", "", "")
	defer op.End("")
	time.Sleep(2 * time.Millisecond)
	return nil
}

//go:noinline
func (srv *Server) stopRemoteCacheIntegration(ctx context.Context) error {
	_, op := wcprof.BeginOp(ctx, "internal", "engine.stop.stopRemoteCacheIntegration", "", "")
	defer op.End("")
	time.Sleep(time.Millisecond)
	return nil
}
