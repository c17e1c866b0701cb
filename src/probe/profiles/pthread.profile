# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#
# Threads of C and C++: what they wait for, by the address of the lock. Only waits that really block are recorded; but
# every call is probed, and a lock that is taken a million times a second costs more than it tells. --max-overhead lets
# such ones go. Before glibc 2.34 these functions are in libpthread, in a static program in the program itself.
about = mutexes, rwlocks, condition variables, semaphores, barriers and joins, by address
tried = glibc 2.36 (Debian 12)
file = libc | libpthread | program
language = native

[lock mutex]
symbol = pthread_mutex_lock
symbol = pthread_mutex_timedlock
symbol = pthread_mutex_clocklock
args = mutex ptr
resource = mutex:{mutex}
wait_kind = mutex

[lock rwlock.read]
symbol = pthread_rwlock_rdlock
symbol = pthread_rwlock_timedrdlock
symbol = pthread_rwlock_clockrdlock
args = rwlock ptr
resource = rwlock:{rwlock} (read)
wait_kind = rwlock

[lock rwlock.write]
symbol = pthread_rwlock_wrlock
symbol = pthread_rwlock_timedwrlock
symbol = pthread_rwlock_clockwrlock
args = rwlock ptr
resource = rwlock:{rwlock} (write)
wait_kind = rwlock

# glibc has two functions of one name, for programs from before 2003; both lead to the same code, which is probed once.
[wait condvar]
symbol = pthread_cond_wait
symbol = pthread_cond_timedwait
symbol = pthread_cond_clockwait
args = cond ptr, mutex ptr
resource = condvar:{cond}
reason = sync
wait_kind = condvar
contended = yes

[wait semaphore]
symbol = sem_wait
symbol = sem_timedwait
symbol = sem_clockwait
args = sem ptr
resource = semaphore:{sem}
reason = sync
wait_kind = semaphore
contended = yes

[wait barrier]
symbol = pthread_barrier_wait
args = barrier ptr
resource = barrier:{barrier}
reason = sync
wait_kind = barrier
contended = yes

[wait join]
symbol = pthread_join
symbol = pthread_timedjoin_np
symbol = pthread_clockjoin_np
args = thread ptr
resource = thread:{thread}
reason = sync
wait_kind = join
contended = yes
