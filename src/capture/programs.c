/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Which programs are loaded is decided by trying: BTF tracing programs first,
 * raw tracepoints where the kernel refuses those. Links are plain file
 * descriptors, nothing is pinned: if we die, the kernel detaches all.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/privileges.h"
#include "capture/programs.h"
#include "capture/sites.h"
#include "capture/skeletons.h"
#include "capture/tables.h"
#include "capture/transient.h"
#include "util/cleanup.h"
#include "util/log.h"
#include "wcbpf.skel.h"

#define FUTEX_EXITS_MAX 4
#define PROBLEMS_MAX 8
#define COPIES_MAX 300 /* stacks copied a CPU and 100 ms while tables are missing: 2.5 MB of its ring */
#define RING_BYTES_TOTAL (64 << 20)
#define SKELETON_CHECKS 1 /* of WCBPF_SKELETON_CHECK_OF */
#define OFFLINE_RING_BYTES_MIN (64 << 10)
#define OFFLINE_RING_BYTES_TOTAL (8 << 20)
#define REFUSED_BTF                                                                                                    \
	"BTF tracing programs are refused here: kernel stacks are taken at switch-out, at a higher cost (-vv says why)"
#define NOT_SAMPLED "threads are not sampled, what they did on the CPU is unknown: "

struct programs {
	struct wcbpf_bpf *skel;
	struct bpf_link *futex_exits[FUTEX_EXITS_MAX];
	struct sampling *sampling; /* NULL: threads are not sampled */
	int stats_fd;
	const struct online *online;
	uint64_t ring_bytes;
	bool *ring_small; /* by CPU: it was offline when rings were made, */
	uint64_t ring_small_bytes;
	uint32_t cpu_n, sample_hz;
	bool typed; /* BTF tracing programs */
	enum site_how sites;
	const char *problems[PROBLEMS_MAX + 1];
	size_t problem_n;
	uint64_t run_n, run_ns, misses; /* read before detaching */
	uint64_t sample_run_n, sample_run_ns; /* of them */
	uint64_t site_run_n, site_run_ns;     /* likewise */
	enum capture_kernel_stacks kernel_stacks;
	struct wcbpf_skeleton *skeletons; /* the map's memory, NULL: not in use */
};

static void problem(struct programs *p, const char *text)
{
	if (p->problem_n < PROBLEMS_MAX)
		p->problems[p->problem_n++] = text;
}

bool programs_are_typed(const struct programs *p)
{
	return p->typed;
}

const char *programs_problem(const struct programs *p, size_t i)
{
	return p->problems[i < PROBLEMS_MAX ? i : PROBLEMS_MAX];
}

static bool is_raw_twin(const char *name)
{
	return !strcmp(name, "switch_raw") || !strcmp(name, "waking_raw") || !strcmp(name, "wakeup_new_raw");
}

static bool is_btf_twin(const char *name)
{
	return !strcmp(name, "switch_btf") || !strcmp(name, "waking_btf") || !strcmp(name, "wakeup_new_btf");
}

static bool is_site_program(const char *name)
{
	return !strncmp(name, "site_", 5);
}

/* A recording without choke points needs none of their memory. */
static int site_maps_shrink(struct wcbpf_bpf *skel)
{
	struct bpf_map *const maps[] = { skel->maps.sites, skel->maps.sites_at, skel->maps.go_layouts, skel->maps.hits,
					 skel->maps.site_scratches, skel->maps.goroutines };
	uint32_t slots = bpf_map__max_entries(skel->maps.site_scratches);
	int err = bpf_map__set_max_entries(skel->maps.scratches, bpf_map__max_entries(skel->maps.scratches) - slots);

	for (size_t i = 0; !err && i < sizeof(maps) / sizeof(maps[0]); i++)
		err = bpf_map__set_max_entries(maps[i], 1);
	return err;
}

static struct bpf_program *site_program(const struct programs *p)
{
	switch (p->sites) {
	case SITES_MULTI:
		return p->skel->progs.site_multi;
	case SITES_COOKIE:
		return p->skel->progs.site_cookie;
	case SITES_ADDRESS:
		return p->skel->progs.site_address;
	case SITES_NONE:
		break;
	}
	return NULL;
}

static int knobs_set(struct wcbpf_bpf *skel, const struct capture_options *o, const struct features *f, uint32_t cpu_n,
		     uint64_t ring_bytes)
{
	static const uint32_t scopes[] = { [CAPTURE_PIDS] = 0, [CAPTURE_TIDS] = 1, [CAPTURE_CGROUP] = 2, [CAPTURE_ALL] = 3 };

	skel->rodata->cfg_scope = scopes[o->scope];
	skel->rodata->cfg_inherit = o->inherit;
	skel->rodata->cfg_hold = o->hold_until_exec;
	skel->rodata->cfg_restart_syscall = SYS_restart_syscall;
	skel->rodata->cfg_ustack = o->user_stacks;
	skel->rodata->cfg_waker_stacks = o->waker_stacks;
	skel->rodata->cfg_copies_max = o->user_stacks == WCBPF_USTACK_COPY ? UINT32_MAX : o->copies ? COPIES_MAX : 0;
	skel->rodata->cfg_has_prev_state = f->switch_has_prev_state;
	skel->rodata->cfg_preempt_count_distance = f->preempt_count_distance;
	skel->rodata->cfg_min_ns = o->min_ns;
	skel->rodata->cfg_cgroup_id = o->cgroup_id;
	skel->rodata->cfg_wakeup_bytes = ring_bytes / 8;
	syscall_classes_fill((uint16_t *)skel->rodata->cfg_syscall_class);
	return bpf_map__set_max_entries(skel->maps.rings, cpu_n);
}

/* A power of two a CPU that runs, 64 MB in all at most. */
static uint64_t ring_bytes_choose(uint64_t asked, uint32_t cpu_n)
{
	uint64_t bytes = 8 << 20, page = sysconf(_SC_PAGESIZE);

	if (asked) {
		for (bytes = page; bytes < asked;)
			bytes *= 2;
		return bytes;
	}
	while (bytes > 256 << 10 && bytes * cpu_n > RING_BYTES_TOTAL)
		bytes /= 2;
	return bytes;
}

struct load_choice {
	bool btf, sample;
	enum site_how sites;
};

static int load(struct programs *p, const struct capture_options *o, const struct features *f, struct load_choice choice)
{
	struct bpf_program *prog;
	int err;

	wcbpf_bpf__destroy(p->skel);
	p->skel = wcbpf_bpf__open();
	if (!p->skel)
		return -errno;
	p->sites = choice.sites;
	err = knobs_set(p->skel, o, f, p->cpu_n, ring_bytes_choose(o->ring_bytes, online_n(p->online)));
	if (!err && choice.sites == SITES_NONE)
		err = site_maps_shrink(p->skel);
	if (err)
		return err;
	bpf_object__for_each_program(prog, p->skel->obj) {
		const char *name = bpf_program__name(prog);

		if ((choice.btf ? is_raw_twin(name) : is_btf_twin(name)) ||
		    (is_site_program(name) && prog != site_program(p)))
			bpf_program__set_autoload(prog, false);
	}
	bpf_program__set_autoload(p->skel->progs.sample, choice.sample);
	bpf_program__set_autoload(p->skel->progs.goroutines_left, choice.sites != SITES_NONE);
	if (choice.sites == SITES_MULTI)
		bpf_program__set_expected_attach_type(p->skel->progs.site_multi, SITES_ATTACH_MULTI);
	p->typed = choice.btf;
	return wcbpf_bpf__load(p->skel);
}

/*
 * With what the host allows: everything first, then without one part that it may
 * refuse, then without all. The first refusal if it allows nothing.
 */
static int load_any(struct programs *p, const struct capture_options *o, const struct features *f)
{
	bool sample = o->sample_hz;
	enum site_how sites = o->probes ? sites_how(f) : SITES_NONE;
	const struct load_choice choices[] = {
		{ true, sample, sites }, { false, sample, sites }, { true, sample, SITES_NONE }, { true, false, sites },
		{ true, false, SITES_NONE }, { false, false, SITES_NONE },
	};
	int err = 0, first = 0;

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		unsigned tries = 0;

		do {
			err = load(p, o, f, choices[i]);
		} while (transient_again(err, &tries));
		if (!err) {
			if (!choices[i].btf)
				problem(p, REFUSED_BTF);
			if (sample && !choices[i].sample)
				problem(p, NOT_SAMPLED "the kernel refused the program");
			if (sites && !choices[i].sites)
				problem(p, "the kernel refused the program of choke points (-vv says why): there are none");
			return 0;
		}
		first = first ? first : err;
		if (!sample && !sites && i == 1)
			break; /* the others are the same */
	}
	return first;
}

static int load_fail(struct capture_error *e, int err)
{
	char missing[256];

	if ((err == -EPERM || err == -EACCES) && privileges_missing(missing, sizeof(missing)))
		return capture_fail(e, err, true, "permission_denied", "Operation not permitted: missing %s; run as root", missing);
	if (err == -EPERM || err == -EACCES)
		return capture_fail(e, err, true, "permission_denied",
				    "Operation not permitted: the kernel refused the BPF programs (lockdown, or a security "
				    "module); 'wcbpf doctor' says more");
	if (err == -EMFILE || err == -ENFILE)
		return capture_fail(e, err, false, "too_many_files",
				    "too many open files: raise the limit (ulimit -n 4096) and try again");
	return capture_fail(e, err, true, "load_failed",
			    "the kernel refused the BPF programs: %s; 'wcbpf doctor' says what is missing", strerror(-err));
}

/* What -p and -t name. */
static int wanted_fill(struct programs *p, const struct capture_options *o)
{
	uint8_t one = 1;

	for (size_t i = 0; i < o->id_n; i++)
		if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.wanted), &o->ids[i], &one, BPF_ANY))
			return -errno;
	return 0;
}

/* libbpf's own words help only who debugs wcbpf. */
static int libbpf_say(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[512];

	if (log_level() < LOG_DEBUG || level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = 0;
	log_debug("%s", line);
	return 0;
}

int programs_new(const struct capture_options *o, const struct online *online, struct programs **ret,
		 struct capture_error *e)
{
	struct programs *p = calloc(1, sizeof(*p));
	struct features f = { 0 };
	int err;

	if (!p)
		return capture_fail(e, -ENOMEM, false, "no_memory", "out of memory");
	libbpf_set_print(libbpf_say);
	p->stats_fd = -1;
	p->kernel_stacks = o->kernel_stacks;
	p->online = online;
	p->cpu_n = online_cpu_n(online);
	p->sample_hz = o->sample_hz;
	err = features_read(&f);
	if (err) {
		programs_free(p);
		return capture_fail(e, err, true, "no_btf",
				    "the kernel has no type information (/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF=y");
	}
	if (f.switch_prev_state_first) {
		programs_free(p);
		return capture_fail(e, -EOPNOTSUPP, true, "kernel_unsupported",
				    "Linux 5.18.0 and 5.18.1 order sched_switch's arguments as no other: update the kernel");
	}
	err = load_any(p, o, &f);
	if (!err)
		err = wanted_fill(p, o);
	if (err) {
		programs_free(p);
		return load_fail(e, err);
	}
	*ret = p;
	return 0;
}

bool programs_tables(const struct programs *p, struct tables_maps *ret)
{
	if (p->skel->rodata->cfg_ustack != WCBPF_USTACK_TABLES)
		return false;
	*ret = (struct tables_maps){ .procs = bpf_map__fd(p->skel->maps.procs),
				     .mapents = bpf_map__fd(p->skel->maps.mapents),
				     .dirs = bpf_map__fd(p->skel->maps.dirs),
				     .rules = bpf_map__fd(p->skel->maps.rules),
				     .shards = bpf_map__fd(p->skel->maps.shards) };
	return true;
}

enum site_how programs_sites(const struct programs *p, struct site_fds *ret)
{
	if (p->sites == SITES_NONE)
		return SITES_NONE;
	*ret = (struct site_fds){ .program = bpf_program__fd(site_program(p)),
				  .sites = bpf_map__fd(p->skel->maps.sites),
				  .sites_at = bpf_map__fd(p->skel->maps.sites_at),
				  .go_layouts = bpf_map__fd(p->skel->maps.go_layouts),
				  .hits = bpf_map__fd(p->skel->maps.hits),
				  .cpu_n = p->cpu_n,
				  .rt = &p->skel->bss->rt };
	return p->sites;
}

int programs_goroutines_close(struct programs *p, uint32_t tgid, uint64_t before_exec_id, uint64_t time_ns, uint32_t flags,
			      int (*f)(void *arg, const struct wcbpf_head *e), void *arg)
{
	struct wcbpf_rt *rt = &p->skel->bss->rt;

	if (p->sites == SITES_NONE)
		return 0;
	rt->go_close_tgid = tgid;
	rt->go_close_exec_id = before_exec_id;
	rt->go_close_ns = time_ns;
	rt->go_close_flags = flags;
	return iterate(p->skel->progs.goroutines_left, bpf_map__fd(p->skel->maps.goroutines), f, arg);
}

int programs_goroutine_add(struct programs *p, const struct wcbpf_goroutine_key *key, const struct wcbpf_goroutine *g)
{
	return bpf_map_update_elem(bpf_map__fd(p->skel->maps.goroutines), key, g, BPF_NOEXIST) ? -errno : 0;
}

int programs_goroutine_read(const struct programs *p, const struct wcbpf_goroutine_key *key, struct wcbpf_goroutine *ret)
{
	return bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.goroutines), key, ret) ? -errno : 0;
}

void programs_goroutine_remove(struct programs *p, const struct wcbpf_goroutine_key *key)
{
	bpf_map_delete_elem(bpf_map__fd(p->skel->maps.goroutines), key);
}

/* What comes on it before it is noticed must have room; but there may be hundreds of them, which never come. */
static uint64_t offline_ring_bytes(uint32_t offline_n, uint64_t most)
{
	uint64_t bytes = OFFLINE_RING_BYTES_MIN;

	while (2 * bytes <= most && 2 * bytes * offline_n <= OFFLINE_RING_BYTES_TOTAL)
		bytes *= 2;
	return bytes;
}

/* A CPU that is offline now may come: it has a ring, a small one. */
static uint64_t ring_size_of_cpu(void *arg, uint32_t cpu)
{
	const struct programs *p = arg;

	return p->ring_small[cpu] ? p->ring_small_bytes : p->ring_bytes;
}

int programs_rings(struct programs *p, uint64_t bytes, struct rings **ret)
{
	p->ring_bytes = ring_bytes_choose(bytes, online_n(p->online));
	p->ring_small = calloc(p->cpu_n, sizeof(*p->ring_small));
	if (!p->ring_small)
		return -ENOMEM;
	p->ring_small_bytes = offline_ring_bytes(p->cpu_n - online_n(p->online), p->ring_bytes);
	for (uint32_t cpu = 0; cpu < p->cpu_n; cpu++)
		p->ring_small[cpu] = !online_turn(p->online, cpu) && p->ring_bytes > p->ring_small_bytes;
	return rings_new(bpf_map__fd(p->skel->maps.rings), bpf_map__fd(p->skel->maps.lifecycle), p->cpu_n, ring_size_of_cpu,
			 p, ret);
}

/* A perf event for one tracepoint; the program runs on all CPUs. */
static struct bpf_link *tracepoint_attach(struct bpf_program *prog, uint32_t id)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = id };
	struct bpf_link *link;
	int fd = -1;

	/* any CPU that is online will do */
	for (int cpu = 0; fd < 0 && cpu < libbpf_num_possible_cpus(); cpu++)
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return NULL;
	link = bpf_program__attach_perf_event(prog, fd);
	if (!link)
		close(fd);
	return link;
}

/* The exits of the futex calls that this kernel has. Without any, results of futex calls are unknown. */
static void futex_exits_attach(struct programs *p)
{
	static const char *const events[FUTEX_EXITS_MAX] = { "syscalls/sys_exit_futex", "syscalls/sys_exit_futex_waitv",
							     "syscalls/sys_exit_futex_wait", "syscalls/sys_exit_futex_requeue" };
	_cleanup_(closep) int tracefs = tracefs_open();
	uint32_t id;

	if (tracefs < 0) {
		problem(p, "no tracefs (CONFIG_FTRACE_SYSCALLS, or no right to mount it): results of futex calls are unknown");
		return;
	}
	for (size_t i = 0; i < FUTEX_EXITS_MAX; i++)
		if (!tracefs_event_id(tracefs, events[i], &id))
			p->futex_exits[i] = tracepoint_attach(p->skel->progs.futex_exit, id);
	if (!p->futex_exits[0])
		problem(p, "the exit of futex(2) can't be traced: results of futex calls are unknown");
}

/* Without samples a recording still tells how long threads were on the CPU, and all about the time they were not. */
static void sampling_begin(struct programs *p, uint32_t hz)
{
	int err;

	if (!hz || !bpf_program__autoload(p->skel->progs.sample))
		return;
	err = sampling_new(p->skel->progs.sample, p->online, hz, &p->sampling);
	if (!err && sampling_problem(p->sampling))
		problem(p, sampling_problem(p->sampling));
	else if (err == -EPERM || err == -EACCES)
		problem(p, NOT_SAMPLED "perf events are refused (kernel.perf_event_paranoid, or a container's seccomp)");
	else if (err)
		problem(p, NOT_SAMPLED "the kernel has no cpu-clock perf event for any CPU");
}

static int programs_link(struct programs *p, struct capture_error *e)
{
	struct wcbpf_bpf *s = p->skel;
	const struct {
		struct bpf_program *prog;
		struct bpf_link **link;
		bool needed;
		const char *without;
	} all[] = {
		{ s->progs.irq_entry, &s->links.irq_entry, false, "irq_handler_entry" },
		{ s->progs.irq_exit, &s->links.irq_exit, false, "irq_handler_exit" },
		{ s->progs.hrtimer_entry, &s->links.hrtimer_entry, false, "hrtimer_expire_entry" },
		{ s->progs.hrtimer_exit, &s->links.hrtimer_exit, false, "hrtimer_expire_exit" },
		{ s->progs.softirq_raise, &s->links.softirq_raise, false, "softirq_raise" },
		{ s->progs.softirq_entry, &s->links.softirq_entry, false, "softirq_entry" },
		{ s->progs.softirq_exit, &s->links.softirq_exit, false, "softirq_exit" },
		{ s->progs.process_fork, &s->links.process_fork, true, "sched_process_fork" },
		{ s->progs.process_exec, &s->links.process_exec, true, "sched_process_exec" },
		{ s->progs.process_exit, &s->links.process_exit, true, "sched_process_exit" },
		{ s->progs.waking_btf, &s->links.waking_btf, true, "sched_waking" },
		{ s->progs.waking_raw, &s->links.waking_raw, true, "sched_waking" },
		{ s->progs.wakeup_new_btf, &s->links.wakeup_new_btf, true, "sched_wakeup_new" },
		{ s->progs.wakeup_new_raw, &s->links.wakeup_new_raw, true, "sched_wakeup_new" },
		{ s->progs.switch_btf, &s->links.switch_btf, true, "sched_switch" },
		{ s->progs.switch_raw, &s->links.switch_raw, true, "sched_switch" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!bpf_program__autoload(all[i].prog))
			continue;
		*all[i].link = bpf_program__attach(all[i].prog);
		if (*all[i].link)
			continue;
		if (all[i].needed)
			return capture_fail(e, -errno, true, "attach_failed", "the tracepoint %s can't be attached: %s",
					    all[i].without, strerror(errno));
		problem(p, "an interrupt tracepoint can't be attached: some wakers are told as unknown or irq");
	}
	futex_exits_attach(p);
	sampling_begin(p, p->sample_hz);
	return 0;
}

int programs_attach(struct programs *p, int64_t *ret_clock_offset_ns, struct capture_error *e)
{
	uint64_t before, after;
	int err = programs_link(p, e);

	if (err)
		return err;
	before = monotonic_ns();
	err = learn_self(p->skel);
	after = monotonic_ns();
	if (err)
		return capture_fail(e, err, true, "attach_failed", "the task iterator doesn't run: %s", strerror(-err));
	*ret_clock_offset_ns = 0;
	/* another time namespace: the programs' clock has an offset */
	if (p->skel->bss->rt.learned_ns < before || p->skel->bss->rt.learned_ns > after)
		*ret_clock_offset_ns = (int64_t)p->skel->bss->rt.learned_ns - (int64_t)(before + (after - before) / 2);
	learn_contexts(p->skel);
	if (!p->skel->bss->rt.same_call_mask)
		problem(p, "system calls can't be told apart: a call that blocks twice is shown as two waits");
	log_debug("learned: same-call flags 0x%llx, hard interrupt bits 0x%x",
		  (unsigned long long)p->skel->bss->rt.same_call_mask, p->skel->bss->rt.hardirq_mask);
	if (!p->skel->bss->rt.hardirq_mask)
		problem(p, "the preempt count can't be read: a waker's context is told by tracepoints alone");
	p->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return 0;
}

static int skeletons_publish(void *arg, const struct wcbpf_skeleton_key *key, const struct wcbpf_variants *variants)
{
	struct programs *p = arg;
	int err = bpf_map_update_elem(bpf_map__fd(p->skel->maps.skeleton_keys), key, variants, BPF_ANY);

	return err && errno != E2BIG ? -errno : 0; /* no room for more keys: these stacks are walked */
}

int programs_learn_stacks(struct programs *p, const struct skeletons_kernel *k, struct skeletons **ret)
{
	struct wcbpf_rt *rt = &p->skel->bss->rt;
	struct skeletons_place place = { .publish = skeletons_publish, .arg = p };
	uint32_t key_at[2] = { 0 };
	int err;

	rt->text = k->text[0];
	rt->text_bytes = k->text[1] - k->text[0];
	rt->sched_text = k->sched[0];
	rt->sched_text_bytes = k->sched[1] - k->sched[0];
	rt->lock_text = k->lock[0];
	rt->lock_text_bytes = k->lock[1] - k->lock[0];
	if (p->kernel_stacks == CAPTURE_KSTACKS_WALK)
		return -ENOENT;
	err = skeletons_key_places(k, (const void *)rt->frozen, rt->frozen_n, key_at);
	log_debug("learned: a stack's key lies at %u and %u of %u stacks: %s", key_at[0], key_at[1], rt->frozen_n, strerror(-err));
	if (err)
		return err;
	place.all = mmap(NULL, sizeof(*place.all) * WCBPF_SKELETONS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED,
			 bpf_map__fd(p->skel->maps.skeletons), 0);
	if (place.all == MAP_FAILED)
		return -errno;
	p->skeletons = place.all;
	err = skeletons_new(k, &place, key_at, ret);
	if (err)
		return err;
	rt->skeleton_checks = p->kernel_stacks == CAPTURE_KSTACKS_CHECK ? WCBPF_SKELETON_CHECK_OF : SKELETON_CHECKS;
	memcpy(rt->key_at, key_at, sizeof(key_at));
	return 0;
}

void programs_switch_on(struct programs *p, uint64_t begin_ns)
{
	p->skel->bss->rt.begin_ns = begin_ns;
	__atomic_store_n(&p->skel->bss->rt.on, WCBPF_ON, __ATOMIC_RELEASE);
}

int programs_seed(struct programs *p, int (*f)(void *arg, const struct wcbpf_head *e), void *arg)
{
	p->skel->bss->rt.iter_mode = WCBPF_ITER_SEED;
	return iterate(p->skel->progs.tasks, -1, f, arg);
}

/* Sums up what the programs cost and missed; gone once they are detached and freed. */
static void statistics_read(struct programs *p)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, p->skel->obj) {
		struct bpf_prog_info info = { 0 };
		uint32_t n = sizeof(info);

		if (bpf_program__fd(prog) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &n))
			continue;
		p->run_n += info.run_cnt;
		p->run_ns += info.run_time_ns;
		p->misses += info.recursion_misses;
		if (prog == p->skel->progs.sample) {
			p->sample_run_n = info.run_cnt;
			p->sample_run_ns = info.run_time_ns;
		} else if (prog == site_program(p)) {
			p->site_run_n = info.run_cnt;
			p->site_run_ns = info.run_time_ns;
		}
	}
}

int programs_look(struct programs *p, uint64_t at_ns, int (*f)(void *arg, const struct wcbpf_head *e), void *arg)
{
	p->skel->bss->rt.iter_mode = WCBPF_ITER_LOOK;
	p->skel->bss->rt.look_ns = at_ns;
	return iterate(p->skel->progs.tasks, -1, f, arg);
}

/*
 * For programs that were past their test of rt.on: one that books an interval while the iterator closes it would have it
 * twice in its thread's times. A hypervisor may stop a CPU in the midst of one for milliseconds, so it is the kernel that
 * says when none runs any more: the call waits until every CPU has been where programs of the scheduler can't be.
 */
static void in_flight_wait(void)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&pause, NULL); /* refused where CPUs have no ticks (nohz_full) */
}

void programs_end(struct programs *p, uint64_t end_ns)
{
	p->skel->bss->rt.end_ns = end_ns;
	__atomic_store_n(&p->skel->bss->rt.on, WCBPF_CLOSING, __ATOMIC_SEQ_CST);
	in_flight_wait();
}

int programs_close(struct programs *p, int (*f)(void *arg, const struct wcbpf_head *e), void *arg)
{
	int err, left;

	p->skel->bss->rt.iter_mode = WCBPF_ITER_CLOSE;
	err = iterate(p->skel->progs.tasks, -1, f, arg);
	left = iterate(p->skel->progs.leftovers, bpf_map__fd(p->skel->maps.threads), f, arg);
	return err ? err : left;
}

void programs_detach(struct programs *p)
{
	__atomic_store_n(&p->skel->bss->rt.on, WCBPF_OFF, __ATOMIC_SEQ_CST);
	in_flight_wait();
	statistics_read(p);
	wcbpf_bpf__detach(p->skel);
	p->sampling = sampling_free(p->sampling);
	for (size_t i = 0; i < FUTEX_EXITS_MAX; i++) {
		bpf_link__destroy(p->futex_exits[i]);
		p->futex_exits[i] = NULL;
	}
}

bool programs_traces(const struct programs *p, uint32_t tgid)
{
	uint8_t one;

	return !bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.targets), &tgid, &one);
}

/* All CPUs' counters, one after another; NULL when they can't be read. */
static uint64_t *counts_read(const struct programs *p)
{
	uint64_t *values = calloc(p->cpu_n, WCBPF_CNT_MAX * sizeof(*values));
	uint32_t zero = 0;

	if (values && bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.counts), &zero, values)) {
		free(values);
		return NULL;
	}
	return values;
}

void programs_counts(const struct programs *p, uint64_t ret[WCBPF_CNT_MAX])
{
	_cleanup_(freep) uint64_t *values = counts_read(p);

	memset(ret, 0, WCBPF_CNT_MAX * sizeof(*ret));
	for (uint32_t cpu = 0; values && cpu < p->cpu_n; cpu++)
		for (int i = 0; i < WCBPF_CNT_MAX; i++)
			ret[i] += values[cpu * WCBPF_CNT_MAX + i];
}

bool programs_counts_of_cpu(const struct programs *p, uint32_t cpu, uint64_t ret[WCBPF_CNT_MAX])
{
	_cleanup_(freep) uint64_t *values = cpu < p->cpu_n ? counts_read(p) : NULL;

	if (values)
		memcpy(ret, values + cpu * WCBPF_CNT_MAX, WCBPF_CNT_MAX * sizeof(*ret));
	return values;
}

uint64_t programs_misses(const struct programs *p)
{
	return p->misses;
}

void programs_cost(const struct programs *p, uint64_t *ret_run_n, uint64_t *ret_run_ns)
{
	*ret_run_n = p->run_n;
	*ret_run_ns = p->run_ns;
}

void programs_sample_cost(const struct programs *p, uint64_t *ret_run_n, uint64_t *ret_run_ns)
{
	*ret_run_n = p->sample_run_n;
	*ret_run_ns = p->sample_run_ns;
}

void programs_site_cost(const struct programs *p, uint64_t *ret_run_n, uint64_t *ret_run_ns)
{
	*ret_run_n = p->site_run_n;
	*ret_run_ns = p->site_run_ns;
}

uint32_t programs_sample_hz(const struct programs *p)
{
	return p->sampling ? sampling_hz(p->sampling) : 0;
}

/* Once a CPU. Where there is no memory for the whole, the small ring must do: what it loses is counted. */
static void ring_grow(struct programs *p, struct rings *rings, uint32_t cpu)
{
	int err = rings_replace(rings, bpf_map__fd(p->skel->maps.rings), cpu, p->ring_bytes);

	if (err)
		log_debug("the ring of CPU %u, which came, can't be made larger: %s", cpu, strerror(-err));
	p->ring_small[cpu] = false;
}

void programs_refresh(struct programs *p, struct rings *rings)
{
	/* before there are samples: each may bring 8 KB of stack with it as long as what it came from is not known */
	for (uint32_t cpu = 0; p->ring_small && cpu < p->cpu_n; cpu++)
		if (p->ring_small[cpu] && online_turn(p->online, cpu))
			ring_grow(p, rings, cpu);
	if (p->sampling)
		sampling_refresh(p->sampling);
}

struct programs *programs_free(struct programs *p)
{
	if (!p)
		return NULL;
	sampling_free(p->sampling);
	free(p->ring_small);
	for (size_t i = 0; i < FUTEX_EXITS_MAX; i++)
		bpf_link__destroy(p->futex_exits[i]);
	if (p->skeletons)
		munmap(p->skeletons, sizeof(*p->skeletons) * WCBPF_SKELETONS_MAX);
	wcbpf_bpf__destroy(p->skel);
	if (p->stats_fd >= 0)
		close(p->stats_fd);
	free(p);
	return NULL;
}
