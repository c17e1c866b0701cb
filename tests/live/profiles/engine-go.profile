# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#
# The Go engine stand-in of the tests (tests/lib/go/engine). It may be stripped: offsets are those of engine.go.
about = the engine stand-in, Go
tried = by the live tests
file = program
language = go

[op session]
symbol = main.(*Server).serveSession
args = server ptr, ctx iface, s ptr, b ptr
kind = session_phase
class = engine.session
ident = {+0(s):gostring}
client = {+0(s):gostring}

[op query]
symbol = main.(*Server).serveQuery
args = server ptr, ctx iface, s ptr, name string
kind = session_phase
class = engine.query
ident = {name}
client = {+0(s):gostring}

[op call]
symbol = main.(*Cache).getOrInitCall
args = c ptr, ctx iface, sessionID string, s ptr, req ptr
results = how int, err error
kind = call
class = {+0(req):gostring}
ident = {+16(req):gostring}
client = {sessionID}
outcome = executed if how == 0, hit if how == 1, joined if how == 2, do_not_cache if how == 3, canceled if how == 5, error

[op execute]
symbol = main.(*Cache).execute
args = c ptr, ctx iface, x ptr
results = status int
kind = call_exec
class = {+0(+0(x)):gostring}
ident = {+16(+0(x)):gostring}
client = {+0(+8(x)):gostring}
key = exec:{x}
outcome = ok if status == 0, canceled if status == 2, error

[wait call.wait]
symbol = main.(*Cache).wait
args = c ptr, ctx iface, x ptr, joined bool
target = exec:{x}
reason = singleflight if joined != 0, call_exec

[op publish]
symbol = main.(*Cache).publish
args = c ptr, ctx iface, x ptr
kind = internal
class = dagql.publishResult
ident = {+16(+0(x)):gostring}
client = {+0(+8(x)):gostring}

# A result has a name before it is there.
[key result]
symbol = main.(*Cache).nameResult
args = c ptr, x ptr, name string
key = result:{name}

[wait result.wait]
symbol = main.(*Cache).awaitResult
args = c ptr, ctx iface, name string
target = result:{name}
reason = call_exec

[op lazy]
symbol = main.(*Lazy).evaluateOne
args = l ptr, ctx iface
results = status int
kind = lazy
class = {+0(l):gostring}
ident = {+16(l):gostring}
client = {+0(+32(l)):gostring}
key = lazy:{l}
outcome = ok if status == 0, error

[wait lazy.wait]
symbol = main.(*Lazy).wait
args = l ptr, ctx iface
target = lazy:{l}
reason = lazy

[op service]
symbol = main.(*Service).start
args = s ptr, ctx iface
kind = service_start
class = Service.start
ident = {+0(s):gostring}
client = {+0(+16(s)):gostring}
key = service:{s}
outcome = ok

[wait service.wait]
symbol = main.(*Service).wait
args = s ptr, ctx iface
target = service:{s}
reason = service

[lock named]
symbol = main.(*NamedLock).lock
args = l ptr, ctx iface
resource = {+0(l):gostring}

[begin transfer]
symbol = main.(*Transfer).begin
args = t ptr, ctx iface
kind = io
class = engine.transfer
ident = {+0(t):gostring}
key = transfer:{t}

[end transfer.end]
symbol = main.(*Transfer).end
args = t ptr, err error
key = transfer:{t}
outcome = error if err != nil, ok

[wait transfer.wait]
symbol = main.(*Transfer).wait
args = t ptr, ctx iface
target = transfer:{t}
reason = io

[op exec]
symbol = main.(*Executor).exec
args = e ptr, ctx iface, p ptr
results = status int
kind = exec
class = Container.exec
ident = {+0(p):gostring}
client = {+0(+40(p)):gostring}
key = process:{p}
outcome = ok if status == 0, error
hosts = yes

[op exec.setup]
symbol = main.(*Executor).setup
args = e ptr, ctx iface, p ptr, phase string
kind = exec_phase
class = {phase}
ident = {+0(p):gostring}
client = {+0(+40(p)):gostring}

[op exec.start]
symbol = main.(*Executor).start
args = e ptr, ctx iface, p ptr
results = err error
kind = exec_phase
class = exec.containerStart
ident = {+0(p):gostring}
client = {+0(+40(p)):gostring}
outcome = error if err != nil, ok

# Its status is the process's; that there is one is its outcome.
[op exec.reap]
symbol = main.(*Executor).reap
args = e ptr, ctx iface, p ptr
kind = exec_phase
class = exec.processRun
ident = {+0(p):gostring}
client = {+0(+40(p)):gostring}
outcome = ok

[wait exec.wait]
symbol = main.(*Executor).wait
args = e ptr, ctx iface, p ptr
target = process:{p}
