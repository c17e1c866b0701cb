# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#
# CPython. Threads that want to run Python code wait for the global interpreter lock: in take_gil where its name is
# known, else in PyEval_RestoreThread, which all that return from a blocking call go through; a thread that gave way in
# the middle of Python code then isn't seen waiting. Markers are there in Debian's builds.
about = CPython: the global interpreter lock, garbage collection, imports
tried = CPython 3.11.2 (Debian 12) and 3.12.1 (shared library, with symbols)
file = python | python2.* | python3* | libpython*
language = native

[lock gil]
symbol = take_gil
symbol = PyEval_RestoreThread
first = yes
resource = GIL
wait_kind = gil

# A thread that gives way when asked to waits here for another one to take the lock.
[wait gil.handover]
symbol = drop_gil
resource = GIL handover
reason = sync
wait_kind = gil
contended = yes
optional = yes

[op gc]
usdt = python:gc__start
usdt_end = python:gc__done
kind = internal
class = gc
ident = generation {$arg1:s32}
optional = yes

[op import]
usdt = python:import__find__load__start
usdt_end = python:import__find__load__done
kind = call
class = import
ident = {$arg1:string}
optional = yes
