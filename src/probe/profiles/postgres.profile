# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#
# PostgreSQL's backends. Debian's builds have static markers (USDT), which cost nothing where nobody waits; they name
# the lock. LWLockAcquire itself is not probed: it is called for each page that is touched. Functions are those that
# the program exports to its extensions, so a stripped one has them too.
about = PostgreSQL: queries, the executor, lightweight and heavyweight locks, I/O of pages and the log
tried = PostgreSQL 15.18 (Debian 12)
file = postgres
language = native

# A query as the simple protocol sends it, from its arrival to its end.
[op query]
usdt = postgresql:query__start
usdt_end = postgresql:query__done
kind = call
ident = {$arg1:string}
root = yes
optional = yes

[op transaction.commit]
symbol = CommitTransactionCommand
kind = internal

# A statement's run in either protocol.
[op portal]
symbol = PortalRun
kind = call_exec

[op executor]
symbol = standard_ExecutorRun
kind = internal

# The marker's arguments: the lock's name, and how it is wanted (0: exclusive, 1: shared).
[lock lwlock]
usdt = postgresql:lwlock__wait__start
usdt_end = postgresql:lwlock__wait__done
resource = lwlock:{$arg1:string}
wait_kind = lwlock
optional = yes

# A relation, row or transaction. LOCALLOCK begins with the lock's tag: three numbers, then one of 16 bits, the type.
[lock heavyweight]
symbol = ProcSleep
args = lock ptr
resource = lock:{+14(lock):u8}:{+0(lock):u32}/{+4(lock):u32}/{+8(lock):u32}
wait_kind = lock

[op wal.flush]
symbol = XLogFlush
kind = io

[op page.read]
symbol = mdread
kind = io

[op page.write]
symbol = mdwrite
kind = io

[op checkpoint]
symbol = CreateCheckPoint
kind = internal
