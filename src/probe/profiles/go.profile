# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#
# Goroutines, with what they wait for and who wakes them, come from the runtime itself and need no line here. These are
# the standard library's own operations. Offsets are those of net/http.Request and net/url.URL, whose first fields have
# not changed since Go 1.0.
about = goroutines, and the standard library's requests, queries, commands and mutexes
tried = etcd 3.4 and dockerd 20.10 (Debian 12, Go 1.19, stripped)
file = program
language = go

# One request to a server, of HTTP/1 and HTTP/2; a new beginning, whatever its connection's goroutine did before.
[op http.request]
symbol = net/http.serverHandler.ServeHTTP
args = server struct{*x}, w iface, req ptr
kind = call
class = http {+0(req):gostring}
ident = {+56(+16(req)):gostring}
root = yes
optional = yes

[op http.client]
symbol = net/http.(*Client).do
args = c ptr, req ptr
results = resp ptr, err error
kind = io
work = external
class = http.client {+0(req):gostring}
ident = {+40(+16(req)):gostring}{+56(+16(req)):gostring}
outcome = error if err != nil, ok
optional = yes

# Which method it is, the file tells if it has debug information: the order of arguments has changed with grpc's versions.
[op grpc.request]
symbol = google.golang.org/grpc.(*Server).processUnaryRPC
symbol = google.golang.org/grpc.(*Server).processStreamingRPC
kind = call
class = grpc {md->MethodName | sd->StreamName | \"request"}
root = yes
optional = yes

[op sql.query]
symbol = database/sql.(*DB).QueryContext
args = db ptr, ctx iface, query string, args slice
results = rows ptr, err error
kind = io
work = external
ident = {query}
outcome = error if err != nil, ok
optional = yes

[op sql.exec]
symbol = database/sql.(*DB).ExecContext
args = db ptr, ctx iface, query string, args slice
results = result iface, err error
kind = io
work = external
ident = {query}
outcome = error if err != nil, ok
optional = yes

# The path is the first field of exec.Cmd.
[op exec.start]
symbol = os/exec.(*Cmd).Start
args = cmd ptr
results = err error
kind = internal
ident = {+0(cmd):gostring}
outcome = error if err != nil, ok
optional = yes

# Called only when the mutex is taken. In internal/sync from Go 1.24 on.
[lock mutex]
symbol = internal/sync.(*Mutex).lockSlow
symbol = sync.(*Mutex).lockSlow
first = yes
args = m ptr
resource = mutex:{m}
wait_kind = mutex
optional = yes

[lock rwmutex.read]
symbol = sync.runtime_SemacquireRWMutexR
args = sem ptr
resource = rwmutex:{sem} (read)
wait_kind = rwlock
optional = yes

[lock rwmutex.write]
symbol = sync.runtime_SemacquireRWMutex
args = sem ptr
resource = rwmutex:{sem} (write)
wait_kind = rwlock
optional = yes
