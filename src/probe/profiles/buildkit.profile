# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#
# BuildKit's solver, in buildkitd and inside dockerd (there below a vendor/ folder, which needs no mention). Arguments
# are stated as far as they have been the same from Docker 20.10 to today.
about = BuildKit in buildkitd and dockerd: solves, operations, single flight, container executions
tried = dockerd 20.10.24 building (Debian 12, Go 1.19, stripped PIE); not on buildkitd, which Debian 12 does not have
file = program
language = go

[op solve]
symbol = github.com/moby/buildkit/solver/llbsolver.(*Solver).Solve
args = s ptr, ctx iface, id string
results = resp ptr, err error
kind = session_phase
class = buildkit.solve
ident = {id}
outcome = error if err != nil, ok
root = yes

[op scheduler.build]
symbol = github.com/moby/buildkit/solver.(*scheduler).build
results = result iface, err error
kind = call
class = buildkit.build
outcome = error if err != nil, ok

# One vertex of the graph: its operation is shared by all that need its result.
[op shared.exec]
symbol = github.com/moby/buildkit/solver.(*sharedOp).Exec
args = op ptr, ctx iface, inputs slice
results = outputs slice, exporters slice, err error
kind = call_exec
class = buildkit.exec
ident = {op}
outcome = error if err != nil, executed

[op shared.cachemap]
symbol = github.com/moby/buildkit/solver.(*sharedOp).CacheMap
args = op ptr, ctx iface, index int
results = resp ptr, err error
kind = internal
class = buildkit.cacheMap
ident = {op}
outcome = error if err != nil, ok

# The type has had two names.
[op exec]
symbol = github.com/moby/buildkit/solver/llbsolver/ops.(*execOp).Exec
symbol = github.com/moby/buildkit/solver/llbsolver/ops.(*ExecOp).Exec
args = op ptr, ctx iface
results = outputs slice, err error
kind = call
class = buildkit.execOp
ident = {op}
outcome = error if err != nil, ok

# The container's processes hang below it.
[op executor.run]
symbol = github.com/moby/buildkit/executor/runcexecutor.(*runcExecutor).Run
symbol = github.com/moby/buildkit/executor/containerdexecutor.(*containerdExecutor).Run
args = executor ptr, ctx iface, id string
kind = exec
work = user
class = buildkit.run
ident = {id}
client = {id}
hosts = yes

# Single flight: one call runs, those that come meanwhile wait for it. A generic type in later versions.
[op flight.run]
symbol = github.com/moby/buildkit/util/flightcontrol.(*call*).run
args = call ptr
kind = call_exec
class = buildkit.flight
ident = {call}
key = flight:{call}

[wait flight.wait]
symbol = github.com/moby/buildkit/util/flightcontrol.(*call*).wait
args = call ptr
target = flight:{call}
