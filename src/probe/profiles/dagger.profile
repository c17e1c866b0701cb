# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#
# The Dagger engine, with the operations, waits and locks that its own recorder (wcprof) has hooks for, under wcprof's
# names. The engine is built without symbols and debug information: functions come from Go's tables, arguments from the
# signatures stated here. Fields are named as in its sources; the offset beside a field is where those of mid-2026 have
# it, and is only used where the program can't tell. Where a version is known to differ, a function that only one of
# the two has decides which section is meant.
#
# It was tried on a program with the same symbols, signatures and layouts (tests/lib/go/dagger), which records itself,
# not on the engine. What differs from wcprof's record, by what can be seen from outside:
#   - an execution begins when its goroutine runs, not when that is made, and ends with it, when who waits was woken
#   - publishResult hangs below the call whose goroutine does it, not below the execution, which has ended by then
#   - a failure is `error`, also one that came of a canceled context
#   - the client of an operation is that of the query it is below; if that began before the recording, its session
#   - a phase of the engine's stop has the name of the function that does it; of a closure that is "func1" and so on
about = The Dagger engine: calls and executions, lazy values, publication, services, containers by phase, sessions, locks
tried = a program of the same symbols and signatures (tests/lib/go/dagger), whole and stripped; not on the engine
include = otel
file = program
language = go

# ---- sessions ----

# One query of a client, on a connection that others share. A client is embedded in its record since 2026.
[op session.serveQuery]
symbol = github.com/dagger/dagger/engine/server.(*Server).serveQuery
with = github.com/dagger/dagger/engine/server.(*clientRuntime).releaseHeavyState
args = srv ptr, w iface, r ptr, client ptr
results = rerr error
kind = session_phase
class = session.serveQuery
client = {client->clientRecord->clientID | +8(+0(client)):gostring}
outcome = error if rerr != nil, ok
root = yes

[op session.serveQuery.before-2026]
symbol = github.com/dagger/dagger/engine/server.(*Server).serveQuery
without = github.com/dagger/dagger/engine/server.(*clientRuntime).releaseHeavyState
args = srv ptr, w iface, r ptr, client ptr
results = rerr error
kind = session_phase
class = session.serveQuery
client = {client->clientID | +8(client):gostring}
outcome = error if rerr != nil, ok
root = yes
optional = yes

[wait session.attachables]
symbol = github.com/dagger/dagger/engine/server.(*daggerSession).getClientCaller
symbol = github.com/dagger/dagger/engine/server.(*clientRuntime).getClientCaller
symbol = github.com/dagger/dagger/engine/server.(*daggerClient).getClientCaller
under = session.serveQuery
resource = session:attachables
reason = io
optional = yes

[op session.workspaceLoad]
symbol = github.com/dagger/dagger/engine/server.(*Server).ensureWorkspaceLoaded
under = session.serveQuery
results = err error
kind = session_phase
class = session.workspaceLoad
inherits = client
outcome = error if err != nil, ok
optional = yes

[op session.modulesLoad]
symbol = github.com/dagger/dagger/engine/server.(*Server).ensureRequestModulesLoaded
symbol = github.com/dagger/dagger/engine/server.(*Server).ensureModulesLoaded
first = yes
under = session.serveQuery
results = err error
kind = session_phase
class = session.modulesLoad
inherits = client
outcome = error if err != nil, ok
optional = yes

# Schemas are built for modules too.
[op session.schemaBuild]
symbol = github.com/dagger/dagger/core.(*SchemaBuilder).Schema
symbol = github.com/dagger/dagger/core.(*ModDeps).Schema
first = yes
under = session.serveQuery
results = schema iface, err error
kind = session_phase
class = session.schemaBuild
inherits = client
outcome = error if err != nil, ok
optional = yes

[op session.query]
symbol = github.com/99designs/gqlgen/graphql/handler.(*Server).ServeHTTP
under = session.serveQuery
kind = session_phase
class = session.query
inherits = client
outcome = ok
optional = yes

# ---- calls ----

# A call of the API by one caller, hits included: "Container.withExec", "module:Type.function". That it joined another's
# execution, its wait tells.
[op call]
symbol = github.com/dagger/dagger/dagql.(*Cache).getOrInitCall
args = c ptr, ctx iface, sessionID string, resolver iface, req ptr, fn func
results = res iface, err error
kind = call
class = {req->ResultCall->Module->Name | +8(+136(+0(req))):gostring && \":"}{ \
	req->ReceiverTypeName | +40(req):gostring || \
	req->ResultCall->Receiver->Call->Type->NamedType | +0(+16(+8(+128(+0(req))))):gostring || \"Query"}.{ \
	req->ResultCall->Field | +24(+0(req)):gostring || req->ResultCall->SyntheticOp | +40(+0(req)):gostring || \"?"}
client = {sessionID}
inherits = client
key = req:{req}
outcome = error if err != nil, do_not_cache if +32(req):bool, hit if +8(res):bool, executed

# The digest of the call's recipe is known when the cache is asked for it, which a call that is not cached doesn't do.
[key call.digest]
symbol = github.com/dagger/dagger/dagql.(*Cache).lookupCacheForRequest
args = c ptr, ctx iface, sessionID string, resolver iface, req ptr, requestDigest string
target = req:{req}
ident = {requestDigest}

# Its execution, shared by all callers of the same: the goroutine that getOrInitCallInner starts. What it works on is the
# first thing that the closure holds, and begins with the recipe's digest.
[op call_exec]
symbol = github.com/dagger/dagger/dagql.(*Cache).getOrInitCallInner.func1
symbol = github.com/dagger/dagger/dagql.(*Cache).getOrInitCall.func1
first = yes
kind = call_exec
class = dagql.callExec
ident = {+0(+8(%dx)):gostring}
inherits = class, client
key = oc:{+8(%dx):ptr}
outcome = ok

# One that has failed gives back what it held, before its waiters go on.
[key call_exec.error]
symbol = github.com/dagger/dagger/dagql.(*ongoingCall).releaseSharedWorkLeases
args = oc ptr, ctx iface
target = oc:{oc:ptr}
outcome = error if oc->err | +120(oc):u64 != nil
optional = yes

# After the wait the first of the waiters publishes the result.
[wait call.wait]
symbol = github.com/dagger/dagger/dagql.(*Cache).wait
args = c ptr, ctx iface, sessionID string, resolver iface, oc ptr, req ptr, joined bool
target = oc:{oc:ptr}
reason = singleflight if joined != 0, call_exec
once = yes

[op publish]
symbol = github.com/dagger/dagger/dagql.(*Cache).initCompletedResult
results = err error
kind = internal
class = dagql.publishResult
outcome = error if err != nil, ok

# ---- lazy values ----

# An evaluation, by the goroutine of whoever needs it first; the class is that of the call that made the lazy value.
[op lazy]
symbol = github.com/dagger/dagger/dagql.(*Cache).runLazyEvalBody
args = c ptr, ctx iface, shared ptr
results = ctx iface, done bool, err error
kind = lazy
class = {shared->resultCall->Module->Name | +8(+136(+200(shared))):gostring && \":"}{ \
	shared->resultCall->Receiver->Call->Type->NamedType | +0(+16(+8(+128(+200(shared))))):gostring || \
	shared->resultCall->Receiver->shared->resultCall->Type->NamedType | \
		+0(+16(+200(+16(+128(+200(shared)))))):gostring || \"Query"}.{ \
	shared->resultCall->Field | +24(+200(shared)):gostring || \"?"}
inherits = client
key = lazy:{shared:ptr}
outcome = error if err != nil, ok
optional = yes

[op lazy.before-2026]
symbol = github.com/dagger/dagger/dagql.(*Cache).evaluateOne.func1
without = github.com/dagger/dagger/dagql.(*Cache).runLazyEvalBody
kind = lazy
class = dagql.evaluateOne
inherits = client
optional = yes

[wait lazy.wait]
symbol = github.com/dagger/dagger/dagql.(*Cache).waitForLazyEvaluation
with = github.com/dagger/dagger/dagql.(*Cache).runLazyEvalBody
args = c ptr, ctx iface, shared ptr
target = lazy:{shared:ptr}
reason = lazy
once = yes
optional = yes

# ---- locks ----

# Mutexes that have a name, when they are taken: core.lazyGroupOnce.mu, core.LazyState.LazyMu and
# dagql.sharedResult.leaseSyncMu. Other mutexes are told of by --probes go, by address.
[lock named]
symbol = github.com/dagger/dagger/engine/wcprof.Lock
args = ctx iface, mu ptr, name string
resource = {name}
wait_kind = mutex
optional = yes

# Cache volumes that are shared locked: each has a lock by name.
[lock cache volume]
symbol = github.com/moby/locker.(*Locker).Lock
args = locker ptr, name string
resource = cachelock:{name}
wait_kind = mutex

# ---- services ----

[op service.start]
symbol = github.com/dagger/dagger/core.(*Service).Start
args = svc ptr, ctx iface, running ptr, dig string
results = err error
kind = service_start
class = service.start
ident = {dig}
inherits = client
key = service:{dig}
outcome = error if err != nil, ok

# Who finds it starting waits for whoever starts it. A key is too large for registers, and begins with the digest.
[wait service.startWithKey]
symbol = github.com/dagger/dagger/core.(*Services).startWithKey
target = service:{key.Digest | $stack1:gostring}
reason = service
contended = yes
once = yes

[wait service.Get]
symbol = github.com/dagger/dagger/core.(*Services).Get
args = services ptr, ctx iface, dig string
target = service:{dig}
reason = service
contended = yes
once = yes
optional = yes

# ---- containers ----

# A container's run, from the request to the end of its command. Its names are in the state that run() is given.
[op exec.run]
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).Run
results = rerr error
kind = exec
class = exec.run
hosts = yes
outcome = error if rerr != nil, ok

# The container's own client, if it may ask the engine, is one of its nested clients.
[key exec.run.names]
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).run
under = exec.run
args = c ptr, ctx iface, state ptr
ident = {state->execMD->CallDigest | +8(+360(state)):gostring || state->id | +0(state):gostring}
client = {state->callerClientID | +384(state):gostring}
nested = {state->nestedClientMetadata->ClientID | +0(+400(state)):gostring}
optional = yes

[op exec.exec]
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).Exec
args = c ptr, ctx iface, id string
results = err error
kind = exec
class = exec.exec
ident = {id}
inherits = client
hosts = yes
outcome = error if err != nil, ok
optional = yes

# What is made ready before, and the run itself; each is "exec." and the method's name. The last is split further by
# what the kernel sees of the processes.
[op exec.phase]
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).setupNetwork
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).injectInit
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).generateBaseSpec
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).filterEnvs
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).setupRootfs
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).setUserGroup
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).setExitCodePath
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).setupStdio
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).setupOTel
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).setupSecretScrubbing
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).setProxyEnvs
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).enableGPU
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).createCWD
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).setupNestedClient
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).installCACerts
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).runContainer
args = c ptr, ctx iface, state ptr
results = err error
kind = exec_phase
class = exec.{$name}
ident = {state->id | +0(state):gostring}
outcome = error if err != nil, ok

[op container.evaluate]
symbol = github.com/dagger/dagger/core.(*ContainerExecState).Evaluate
results = err error
kind = internal
class = ContainerExecState.Evaluate
inherits = client
outcome = error if err != nil, ok
optional = yes

[op container.mounts]
symbol = github.com/dagger/dagger/core.prepareMounts
symbol = github.com/dagger/dagger/core.applyOutputs
symbol = github.com/dagger/dagger/core.(*materializedExecPlan).applyOutputs
kind = internal
class = container.{$name}
inherits = client
outcome = ok
optional = yes

# ---- the engine's stop ----

[op stop]
symbol = github.com/dagger/dagger/engine/server.(*Server).Stop
symbol = github.com/dagger/dagger/engine/server.(*Server).GracefulStop
kind = internal
class = engine.stop
optional = yes

# Nothing new is begun from here on. The stop itself says so again.
[op stop.signal]
symbol = github.com/dagger/dagger/engine/server.(*Server).BeginGracefulStop
kind = internal
class = engine.stop.signal
optional = yes

# Before it, clients that are connected are waited for, without a limit.
[op stop.grpc]
symbol = google.golang.org/grpc.(*Server).GracefulStop
kind = internal
class = grpc.GracefulStop
optional = yes

[op stop.http]
symbol = net/http.(*Server).Shutdown
kind = internal
class = http.Shutdown
optional = yes

# Its closures, those that are goroutines of their own too; not what closures of it contain.
[op stop.phase]
symbol = github.com/dagger/dagger/engine/server.(*Server).Stop.func?
symbol = github.com/dagger/dagger/engine/server.(*Server).Stop.func??
symbol = github.com/dagger/dagger/engine/server.(*Server).GracefulStop.func?
symbol = github.com/dagger/dagger/engine/server.(*Server).GracefulStop.func??
kind = internal
class = engine.stop.{$name}
optional = yes

# What is done in the stop, and at other times too.
[op stop.step]
symbol = github.com/dagger/dagger/engine/server.(*Server).removeDaggerSession
symbol = github.com/dagger/dagger/engine/server.(*Server).stopRemoteCacheIntegration
symbol = github.com/dagger/dagger/engine/engineutil.ShutdownGlobalNamespaceWorkerPool
symbol = golang.org/x/sys/unix.Syncfs
under = engine.stop*
kind = internal
class = engine.stop.{$name}
optional = yes

[op stop.prune]
symbol = github.com/dagger/dagger/dagql.(*Cache).Prune
under = engine.stop*
kind = internal
class = engine.stop.Cache.Prune
optional = yes

[op stop.persist]
symbol = github.com/dagger/dagger/dagql.(*Cache).Close
under = engine.stop*
args = c ptr, ctx iface
results = err error
kind = internal
class = engine.stop.Cache.Close
outcome = error if err != nil, ok
optional = yes

[op stop.databases]
symbol = go.etcd.io/bbolt.(*DB).Close
under = engine.stop*
results = err error
kind = internal
class = engine.stop.DB.Close
outcome = error if err != nil, ok
optional = yes

# What is drained when the server has stopped.
[op exit.events]
symbol = main.(*engineEventExport).shutdownAtExit
kind = internal
class = engine.exit.events
optional = yes

[op exit.metrics]
symbol = main.closeResourceMetrics
kind = internal
class = engine.exit.metrics
optional = yes

[op exit.telemetry]
symbol = github.com/dagger/otel-go.Close
kind = internal
class = engine.exit.telemetry
optional = yes

[op exit.workloads]
symbol = github.com/dagger/dagger/engine/telemetry.(*WorkloadExport).Shutdown
results = err error
kind = internal
class = engine.exit.workloads
outcome = error if err != nil, ok
optional = yes
