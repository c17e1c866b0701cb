# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#
# The C engine stand-in of the tests (tests/workloads/engine). It may be stripped: offsets are those of engine.h.
about = the engine stand-in, C
tried = by the live tests
file = program
language = native

[op session]
symbol = engine_serve_session
args = s ptr
kind = session_phase
class = engine.session
ident = {+0(+0(s)):string}
client = {+0(+0(s)):string}

[op query]
symbol = engine_serve_query
args = s ptr, name string
kind = session_phase
class = engine.query
ident = {name}
client = {+0(+0(s)):string}

[op call]
symbol = engine_call
args = e ptr, s ptr, r ptr
results = how s32
kind = call
class = {+0(+0(r)):string}
ident = {+0(+8(r)):string}
client = {+0(+0(s)):string}
outcome = executed if how == 0, hit if how == 1, joined if how == 2, do_not_cache if how == 3, \
	canceled if how == -125, error

[op execute]
symbol = engine_execute
args = x ptr
results = status s32
kind = call_exec
class = {+0(+0(+0(x))):string}
ident = {+0(+8(+0(x))):string}
client = {+0(+0(+8(x))):string}
key = exec:{x}
outcome = ok if status == 0, canceled if status == -125, error

[wait call.wait]
symbol = engine_wait
args = x ptr, joined bool, timeout_ms u32
target = exec:{x}
reason = singleflight if joined != 0, call_exec

[op publish]
symbol = engine_publish
args = x ptr
kind = internal
class = dagql.publishResult
ident = {+0(+8(+0(x))):string}
client = {+0(+0(+8(x))):string}

# A result has a name before it is there.
[key result]
symbol = engine_name_result
args = e ptr, x ptr, name string
key = result:{name}

[wait result.wait]
symbol = engine_await_result
args = e ptr, name string
target = result:{name}
reason = call_exec

[op lazy]
symbol = lazy_evaluate
args = l ptr
results = status s32
kind = lazy
class = {+0(+0(l)):string}
ident = {+0(+8(l)):string}
client = {+0(+0(+16(l))):string}
key = lazy:{l}
outcome = ok if status == 0, error

[wait lazy.wait]
symbol = lazy_wait
args = l ptr
target = lazy:{l}
reason = lazy

[op service]
symbol = service_start
args = s ptr
results = status s32
kind = service_start
class = Service.start
ident = {+8(s):string}
client = {+0(+0(+0(s))):string}
key = service:{s}
outcome = ok if status == 0, error

[wait service.wait]
symbol = service_wait
args = s ptr
target = service:{s}
reason = service

[lock named]
symbol = lock_take
args = l ptr
resource = {+0(+40(l)):string}

[begin transfer]
symbol = transfer_begin
args = t ptr
kind = io
class = engine.transfer
ident = {+0(+0(t)):string}
key = transfer:{t}

[end transfer.end]
symbol = transfer_end
args = t ptr, status s32
key = transfer:{t}
outcome = ok if status == 0, error

[wait transfer.wait]
symbol = transfer_wait
args = t ptr
target = transfer:{t}
reason = io

[op exec]
symbol = executor_exec
args = p ptr
results = status s32
kind = exec
class = Container.exec
ident = {+0(+0(p)):string}
client = {+0(+0(+16(p))):string}
key = process:{p}
outcome = ok if status == 0, error
hosts = yes

[op exec.setup]
symbol = executor_setup
args = p ptr, phase string
kind = exec_phase
class = {phase}
ident = {+0(+0(p)):string}
client = {+0(+0(+16(p))):string}

[op exec.start]
symbol = executor_start
args = p ptr
results = status s32
kind = exec_phase
class = exec.containerStart
ident = {+0(+0(p)):string}
client = {+0(+0(+16(p))):string}
outcome = ok if status == 0, error

[op exec.reap]
symbol = executor_reap
args = p ptr
results = status s32
kind = exec_phase
class = exec.processRun
ident = {+0(+0(p)):string}
client = {+0(+0(+16(p))):string}
outcome = ok if status == 0, error

[wait exec.wait]
symbol = executor_wait
args = p ptr
target = process:{p}
