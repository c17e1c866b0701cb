# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#
# Rust's standard library waits for futexes in functions of its own, which are called only when a lock is taken; their
# modules have moved between releases. A stripped program has no names for them: there the system calls alone tell.
# Condvar::wait and thread::park are inlined by the compiler in many programs: the notes tell how often.
about = Rust's std: mutexes, rwlocks, condition variables, parked threads
tried = rustc 1.95, debug and release, not stripped
file = program | *.so*
language = native

[lock mutex]
symbol = std::sys::*Mutex::lock_contended
args = mutex ptr
resource = mutex:{mutex}
wait_kind = mutex

[lock rwlock.read]
symbol = std::sys::*RwLock::read_contended
args = rwlock ptr
resource = rwlock:{rwlock} (read)
wait_kind = rwlock
optional = yes

[lock rwlock.write]
symbol = std::sys::*RwLock::write_contended
args = rwlock ptr
resource = rwlock:{rwlock} (write)
wait_kind = rwlock
optional = yes

[wait condvar]
symbol = std::sys::*Condvar::wait_optional_timeout
symbol = std::sys::*Condvar::wait
args = condvar ptr
resource = condvar:{condvar}
reason = sync
wait_kind = condvar
contended = yes
optional = yes

# Channels wait so.
[wait park]
symbol = std::thread::*Thread::park
symbol = std::thread::*Thread::park_timeout
symbol = std::thread::park
symbol = std::thread::park_timeout
reason = sync
wait_kind = park
contended = yes
optional = yes
