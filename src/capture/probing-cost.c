/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What a hit costs on this machine, which differs by 20 between instructions
 * and by 10 between machines: functions of our own are called with and without
 * a probe. Not by the main thread: where the kernel's filter by process drops the
 * others (uprobe_multi before 6.10, 46ba0e49b642), this shows it.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <link.h>

#include "capture/internal.h"
#include "capture/probing-state.h"
#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/log.h"

#define ROUNDS 7
#define CALLS 32 /* a round */
#define VALUES 3

#if defined(__x86_64__)
/* Each begins with the instruction that is probed: one that is emulated, a nop, one that is single-stepped. */
__asm__(".pushsection .text\n"
	".p2align 4\n"
	"cost_push:\n\tpush %rbp\n\tpop %rbp\n\tret\n"
	".p2align 4\n"
	"cost_nop:\n\tnopl 0(%rax,%rax,1)\n\tret\n"
	".p2align 4\n"
	"cost_mov:\n\tmov %rdi,%rax\n\tret\n"
	".p2align 4\n"
	"cost_values:\n\tpush %rbp\n\tpop %rbp\n\tret\n"
	".popsection");
#else
#error "no functions to measure probes with for this architecture: add them here"
#endif
void cost_push(const char *text) __attribute__((visibility("hidden")));
void cost_nop(const char *text) __attribute__((visibility("hidden")));
void cost_mov(const char *text) __attribute__((visibility("hidden")));
void cost_values(const char *text) __attribute__((visibility("hidden")));

typedef void (*cost_fn)(const char *text);
enum { PUSH, NOP, MOV, VALUES_TOO, FUNCTIONS };
static const cost_fn functions[FUNCTIONS] = { [PUSH] = cost_push, [NOP] = cost_nop, [MOV] = cost_mov,
					      [VALUES_TOO] = cost_values };

struct measuring {
	struct probing *p;
	struct site_place places[FUNCTIONS];
	uint64_t before_ns[FUNCTIONS], with_ns[FUNCTIONS];
	int err;
};

/* Where in our executable file a function of ours is. */
static int offset_of(cost_fn f, uint64_t *ret)
{
	const ElfW(Phdr) *ph = (const void *)getauxval(AT_PHDR);
	size_t n = getauxval(AT_PHNUM);
	uint64_t base = 0, address = (uintptr_t)f;

	for (size_t i = 0; ph && i < n; i++)
		if (ph[i].p_type == PT_PHDR)
			base = (uintptr_t)ph - ph[i].p_vaddr;
	for (size_t i = 0; ph && i < n; i++)
		if (ph[i].p_type == PT_LOAD && address - base - ph[i].p_vaddr < ph[i].p_filesz) {
			*ret = address - base - ph[i].p_vaddr + ph[i].p_offset;
			return 0;
		}
	return -ENOENT;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* What this thread has had of the CPUs: others that have them meanwhile are no cost of a hit. */
static uint64_t spent_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Of some rounds the lower quartile, a call: what interrupts it only adds to it. */
static uint64_t call_ns(cost_fn f)
{
	static const char text[] = "what a string costs";
	uint64_t rounds[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begin_ns = spent_ns();

		for (int k = 0; k < CALLS; k++)
			f(text);
		rounds[i] = (spent_ns() - begin_ns) / CALLS;
	}
	qsort(rounds, ROUNDS, sizeof(*rounds), compare);
	return rounds[ROUNDS / 4];
}

/* Sites of point 0, which no event reader takes for one. */
static int sites_make(struct measuring *m)
{
	static const struct wcbpf_fetch fetches[VALUES] = {
		{ .from = WCBPF_FROM_REG, .reg = 5, .type = WCBPF_VALUE_UINT, .bytes = 8 },
		{ .from = WCBPF_FROM_REG, .reg = 5, .type = WCBPF_VALUE_STRING, .bytes = 64 },
		{ .from = WCBPF_FROM_REG, .reg = 5, .type = WCBPF_VALUE_UINT, .bytes = 8, .memory = 1 },
	};

	for (int i = 0; i < FUNCTIONS; i++) {
		struct wcbpf_site w = { .kind = WCBPF_SITE_ENTRY, .cfa_reg = 7, .cfa_off = 8, .generation = 1 };
		uint32_t number = m->p->site_n++;
		int err;

		if (i == VALUES_TOO) {
			w.fetch_n = VALUES;
			memcpy(w.fetch, fetches, sizeof(fetches));
		}
		if (bpf_map_update_elem(m->p->fds.sites, &number, &w, BPF_ANY))
			return -errno;
		err = offset_of(functions[i], &m->places[i].offset);
		if (err)
			return err;
		m->places[i].cookie = WCBPF_COOKIE(number, 1);
		if (m->p->o.how == SITES_ADDRESS) {
			struct wcbpf_address key = { .address = (uintptr_t)functions[i], .tgid = getpid() };
			struct wcbpf_sites_at at = { { number } };

			if (bpf_map_update_elem(m->p->fds.sites_at, &key, &at, BPF_ANY))
				return -errno;
		}
	}
	return 0;
}

static void *measure(void *arg)
{
	struct measuring *m = arg;
	struct probing *p = m->p;
	_cleanup_(closep) int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct site_link *links[2] = { NULL, NULL };

	for (int i = 0; i < FUNCTIONS; i++)
		m->before_ns[i] = call_ns(functions[i]);
	m->err = self < 0 ? -errno :
			    site_link_new(p->o.how, p->fds.program, self, p->filter_drops_threads ? 0 : getpid(), false,
					  m->places, FUNCTIONS, &links[0]);
	if (m->err)
		return NULL;
	p->fds.rt->probing_tid = syscall(SYS_gettid);
	for (int i = 0; i < FUNCTIONS; i++)
		m->with_ns[i] = call_ns(functions[i]);
	p->fds.rt->probing_tid = 0;
	links_remove(p, links);
	return NULL;
}

static uint64_t hits_of_ours(struct probing *p)
{
	_cleanup_(freep) struct wcbpf_hits *each = calloc(p->fds.cpu_n, sizeof(*each));
	uint32_t point = 0;
	uint64_t n = 0;

	if (!each || bpf_map_lookup_elem(p->fds.hits, &point, each))
		return 0;
	for (uint32_t cpu = 0; cpu < p->fds.cpu_n; cpu++)
		n += each[cpu].entry_n;
	return n;
}

static int measure_in_thread(struct measuring *m)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, measure, m);

	if (err)
		return -err;
	pthread_join(thread, NULL);
	return m->err;
}

static uint64_t above(const struct measuring *m, int i)
{
	return m->with_ns[i] > m->before_ns[i] ? m->with_ns[i] - m->before_ns[i] : 0;
}

void probing_calibrate(struct probing *p)
{
	struct measuring m = { .p = p };
	int err = sites_make(&m);

	if (!err)
		err = measure_in_thread(&m);
	if (!err && !hits_of_ours(p) && p->o.how == SITES_MULTI) {
		p->filter_drops_threads = true;
		err = measure_in_thread(&m);
		if (!err && hits_of_ours(p))
			probing_tell(p, true, "this kernel attaches to one thread of a process or to all processes (before 6.10): choke "
				     "points cost others who run the same files as well");
	}
	if (err || !hits_of_ours(p)) {
		probing_tell(p, true, "probes of wcbpf itself don't work (%s): choke points may not be seen, and what they cost is "
			     "not known", err ? strerror(-err) : "they are not hit");
		return;
	}
	p->costs = (struct probing_costs){ .emulated_ns = above(&m, PUSH), .nop_ns = above(&m, NOP), .stepped_ns = above(&m, MOV) };
	if (above(&m, VALUES_TOO) > above(&m, PUSH))
		p->costs.value_ns = (above(&m, VALUES_TOO) - above(&m, PUSH)) / VALUES;
	log_debug("a probe hit costs %llu ns, at a nop %llu, if single-stepped %llu; a value %llu",
		  (unsigned long long)p->costs.emulated_ns, (unsigned long long)p->costs.nop_ns,
		  (unsigned long long)p->costs.stepped_ns, (unsigned long long)p->costs.value_ns);
}

void probing_costs(const struct probing *p, struct probing_costs *ret)
{
	*ret = p->costs;
}
