# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#
# The Dagger engine, with the operations that its own recorder (wcprof) has hooks for. The engine is built without symbols
# and debug information; functions come from Go's tables, arguments from the signatures that are stated here. Where a
# field path has an offset beside it, the offset is that of the engine's sources of 2026.
#
# Who waits for whom needs no line where a channel tells it: the call that executes, the lazy evaluation and the service
# start each run in a goroutine that closes the channel as its last act, so whoever wakes up is known to have waited for
# it. What runs in a container is seen by the kernel: the executions below host its processes. The mutexes of the recorder's
# hooks (leaseSyncMu, LazyMu, lazyGroupOnce.mu) are waited for in functions that do other things too: what a goroutine
# waits for there is a sync.Mutex, which its stack tells from others; --probes go adds the address.
about = The Dagger engine: calls and executions, lazy values, publication, services, containers by phase, sessions, locks
tried = not on the engine, which Debian does not have
file = program
language = go

# One query of a client, on a connection that others share.
[op session.serveQuery]
symbol = github.com/dagger/dagger/engine/server.(*Server).serveQuery
args = srv ptr, w iface, r ptr, client ptr
results = rerr error
kind = session_phase
class = session.serveQuery
outcome = error if rerr != nil, ok
root = yes

# A call of the API by one caller, hits included. ResultCall.Field is the name of the field that is called.
[op call]
symbol = github.com/dagger/dagger/dagql.(*Cache).getOrInitCall
args = c ptr, ctx iface, sessionID string, resolver iface, req ptr, fn func
results = res iface, err error
kind = call
class = {req->ResultCall->Field | +24(+0(req)):gostring}
client = {sessionID}
outcome = error if err != nil, do_not_cache if +32(req):bool, hit if +8(res):bool, executed

# Its execution, shared by all callers of the same: the goroutine that getOrInitCallInner starts. What it works on is the
# first thing that the closure holds, and begins with the recipe's digest.
[op call_exec]
symbol = github.com/dagger/dagger/dagql.(*Cache).getOrInitCallInner.func1
symbol = github.com/dagger/dagger/dagql.(*Cache).getOrInitCall.func1
first = yes
kind = call_exec
class = dagql.callExec
key = oc:{+8(%dx)}

[op publish]
symbol = github.com/dagger/dagger/dagql.(*Cache).initCompletedResult
results = err error
kind = internal
class = dagql.publishResult
outcome = error if err != nil, ok

# An evaluation of a lazy value, by the goroutine that evaluateOne starts for all that need it.
[op lazy]
symbol = github.com/dagger/dagger/dagql.(*Cache).evaluateOne.func1
kind = lazy
class = dagql.evaluateOne

[op service.start]
symbol = github.com/dagger/dagger/core.(*Services).startWithKey
kind = service_start
class = service.start
ident = {key.Digest | \"service"}

# A container's run, from the request to the end of its command.
[op exec]
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).Run
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).Exec
args = c ptr, ctx iface, id string
kind = exec
class = exec
ident = {id}
client = {id}
hosts = yes

# What is made ready before, and the run itself; each is "exec." and the method's name.
[op exec.phase]
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).setup*
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).set*
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).inject*
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).generateBaseSpec
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).filterEnvs
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).enableGPU
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).createCWD
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).installCACerts
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).runContainer
symbol = github.com/dagger/dagger/engine/engineutil.(*Client).callWithIO
kind = exec_phase
class = exec.{$name}

[op container.evaluate]
symbol = github.com/dagger/dagger/core.(*ContainerExecState).Evaluate
results = err error
kind = internal
class = ContainerExecState.Evaluate
outcome = error if err != nil, ok

[op container.mounts]
symbol = github.com/dagger/dagger/core.prepareMounts
symbol = github.com/dagger/dagger/core.applyOutputs
symbol = github.com/dagger/dagger/core.(*materializedExecPlan).applyOutputs
kind = internal
class = container.{$name}
optional = yes

# Cache volumes that are shared locked: each has a lock by name.
[lock cache volume]
symbol = github.com/moby/locker.(*Locker).Lock
args = locker ptr, name string
resource = cachelock:{name}
wait_kind = mutex

# The engine's stop, step by step.
[op stop]
symbol = github.com/dagger/dagger/engine/server.(*Server).Stop
symbol = github.com/dagger/dagger/engine/server.(*Server).GracefulStop
kind = internal
class = engine.stop
optional = yes
