// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Package server is, of the engine's, what serves a client's query, phase by phase.
package server

import (
	"context"
	"time"
	"unsafe"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/dagger/dagger/core"
	"github.com/dagger/dagger/dagql"
	"github.com/dagger/dagger/engine"
	"github.com/dagger/dagger/engine/wcprof"
)

type daggerSession struct{ attached chan struct{} }

// As in the engine's sources of 2026: a tracer reads of it.
type clientRecord struct {
	daggerSession  *daggerSession
	clientID       string
	clientVersion  string
	secretToken    string
	clientMetadata *engine.ClientMetadata
}

type clientRuntime struct {
	*clientRecord
	servedMods *core.SchemaBuilder
	answer     func(ctx context.Context)
}

var _ [0]struct{} = [unsafe.Offsetof(clientRecord{}.clientID) - 8]struct{}{}

type Server struct {
	engineCache *dagql.Cache
	session     *daggerSession
}

// Query is the stand-in's own: a client asks, and what answers runs in the query's context.
func (srv *Server) Query(md *engine.ClientMetadata, answer func(ctx context.Context)) error {
	client := &clientRuntime{clientRecord: &clientRecord{daggerSession: &daggerSession{make(chan struct{})},
		clientID: md.ClientID, clientMetadata: md}, servedMods: &core.SchemaBuilder{Name: "core"}, answer: answer}
	time.AfterFunc(2*time.Millisecond, func() { close(client.daggerSession.attached) })
	err := srv.serveQuery(nil, &handler.Request{}, client)
	client.releaseHeavyState()
	return err
}

func phase(ctx context.Context, class string, client *clientRuntime, run func(context.Context) error) error {
	ctx, op := wcprof.BeginOp(ctx, "session_phase", class, "", client.clientID)
	err := run(ctx)
	op.EndErr(err)
	return err
}

//go:noinline
func (srv *Server) serveQuery(w handler.ResponseWriter, r *handler.Request, client *clientRuntime) (rerr error) {
	ctx, op := wcprof.BeginOp(wcprof.Detached(), "session_phase", "session.serveQuery", "", client.clientID)
	defer func() { op.EndErr(rerr) }()
	ctx = dagql.ContextWithClient(ctx, client.clientMetadata)
	ctx = core.ContextWithSession(ctx, client.clientMetadata.SessionID)
	start := wcprof.Now()
	client.daggerSession.getClientCaller(ctx, client.clientID)
	wcprof.Waited(ctx, "io", nil, "session:attachables", start)
	phase(ctx, "session.workspaceLoad", client, func(ctx context.Context) error { return srv.ensureWorkspaceLoaded(ctx, client) })
	phase(ctx, "session.modulesLoad", client, func(ctx context.Context) error {
		return srv.ensureRequestModulesLoaded(ctx, client, r)
	})
	phase(ctx, "session.schemaBuild", client, func(ctx context.Context) error {
		_, err := client.servedMods.Schema(ctx)
		return err
	})
	return phase(ctx, "session.query", client, func(ctx context.Context) error {
		gqlSrv := &handler.Server{Answer: func(w handler.ResponseWriter, r *handler.Request) { client.answer(r.Ctx) }}
		gqlSrv.ServeHTTP(w, &handler.Request{Ctx: ctx})
		return nil
	})
}

//go:noinline
func (sess *daggerSession) getClientCaller(ctx context.Context, id string) (interface{}, error) {
	select {
	case <-sess.attached:
		return id, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

//go:noinline
func (srv *Server) ensureWorkspaceLoaded(ctx context.Context, client *clientRuntime) error {
	time.Sleep(time.Millisecond)
	return nil
}

// The schema that is built here is a module's: no phase of the query.
//
//go:noinline
func (srv *Server) ensureRequestModulesLoaded(ctx context.Context, client *clientRuntime, r *handler.Request) error {
	_, err := (&core.SchemaBuilder{Name: "module"}).Schema(ctx)
	return err
}

//go:noinline
func (client *clientRuntime) releaseHeavyState() { client.servedMods = nil }
