/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Chance: a sum of n durations varies as their number and their spread do. The
 * number is taken as given (a build compiles as many files again), so a sum of
 * equal ones has no noise and one of a few wild ones has much. Where a number
 * is one measured interval, nothing inside the run tells.
 */
#include "cmd/measures.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report-sections.h"
#include "util/cleanup.h"
#include "util/text.h"
#include "util/vec.h"

/* Fewer say nothing about their spread. */
enum { SPREAD_MIN = 5 };

static int add(struct measures *m, const struct measure *x, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int add(struct measures *m, const struct measure *x, const char *fmt, ...)
{
	va_list ap;
	char *key;

	va_start(ap, fmt);
	key = text_vformat(fmt, ap);
	va_end(ap);
	if (!key)
		return -ENOMEM;
	if (VEC_RESERVE(m->list, m->cap, m->n + 1) < 0) {
		free(key);
		return -ENOMEM;
	}
	m->list[m->n] = *x;
	m->list[m->n++].key = key;
	return 0;
}

/* Of a sum of n durations with that sum of squares. */
static double sigma_of(uint64_t n, double sum, double squares)
{
	double variance = n ? squares / (double)n - sum / (double)n * (sum / (double)n) : 0;

	return n < SPREAD_MIN ? -1 : sqrt((variance > 0 ? variance : 0) * (double)n);
}

static int whole_add(struct report *r, struct measures *m)
{
	struct report_loss losses[REPORT_LOSSES_MAX];
	size_t n = report_losses(r->m, losses);
	struct measure x = { .value = (double)r->m->end_ns, .sigma = -1, .unit = MEASURE_NS };
	uint64_t lost = 0, open = 0;
	uint32_t deadlocks = 0;

	for (size_t i = 0; i < n; i++)
		lost += losses[i].n;
	/* Of a file that is not whole at least something. */
	lost += report_is_damaged(r) ? (r->problem.missing_n ?: 1) : 0;
	for (size_t i = 0; i < r->open_n; i++)
		open += !analyze_wait_is_idle(r->m, &r->m->waits[r->open[i]]);
	for (size_t i = 0; i < r->stuck_n; i++)
		deadlocks = r->stuck[i].circle > deadlocks ? r->stuck[i].circle : deadlocks;
	if (add(m, &x, "makespan") < 0)
		return -ENOMEM;
	x = (struct measure){ .value = (double)lost, .sigma = 0, .unit = MEASURE_COUNT };
	if (add(m, &x, "lost") < 0)
		return -ENOMEM;
	x.value = (double)dump_dropped_events(r->m);
	if (add(m, &x, "dropped") < 0)
		return -ENOMEM;
	x.value = (double)open;
	if (add(m, &x, "open") < 0)
		return -ENOMEM;
	x.value = deadlocks;
	return add(m, &x, "deadlocks");
}

static int states_add(const struct report *r, struct measures *m)
{
	const struct analyze_states *s = &r->states;
	double variance[WHERE_MAX] = { 0 };
	bool known[WHERE_MAX];

	for (unsigned i = 0; i < WHERE_MAX; i++)
		known[i] = i > WHERE_RUNNABLE && i < WHERE_UNKNOWN;
	for (size_t i = 0; i < r->kinds.n; i++) {
		const struct analyze_entry *e = &r->kinds.entries[i];
		double sigma = sigma_of(e->count, (double)report_entry_ns(e), e->squares);

		known[e->where] &= sigma >= 0;
		variance[e->where] += sigma * sigma;
	}
	for (unsigned i = 0; i < WHERE_MAX; i++) {
		struct measure x = { .value = (double)s->ns[i], .whole = (double)s->total_ns, .unit = MEASURE_NS,
				     .sigma = known[i] ? sqrt(variance[i]) : -1, .sort = MEASURE_STATE };

		if (add(m, &x, "%s", analyze_where_name((enum analyze_where)i)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int class_add(const struct report *r, struct measures *m, const struct analyze_class *c)
{
	const char *kind = c->kind == OP_INTERNAL ? "thread" : op_kind_name(c->kind),
		   *name = strtab_str(r->m->strings, c->class_id);
	double sigma = sigma_of(c->count, (double)c->total_ns, c->squares), n = c->count ? (double)c->count : 1;
	const struct {
		const char *word;
		double value, sigma;
		bool detail;
	} parts[] = {
		{ "total", (double)c->total_ns, sigma, false },
		{ "self", (double)analyze_class_self_ns(c), -1, true },
		{ "mean", (double)c->total_ns / n, sigma < 0 ? -1 : sigma / n, true },
		{ "p50", (double)c->p50_ns, -1, true },
		{ "p95", (double)c->p95_ns, -1, true },
		{ "p99", (double)c->p99_ns, -1, true },
		{ "longest", (double)c->max_ns, -1, true },
	};
	struct measure x = { .value = (double)c->count, .sigma = 0, .unit = MEASURE_COUNT, .sort = MEASURE_CLASS,
			     .detail = true };

	if (add(m, &x, "count:%s:%s", kind, name) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		x = (struct measure){ .value = parts[i].value, .sigma = parts[i].sigma, .unit = MEASURE_NS,
				      .sort = MEASURE_CLASS, .detail = parts[i].detail,
				      .whole = i < 2 ? (double)r->m->end_ns : 0 };
		if (add(m, &x, "%s:%s:%s", parts[i].word, kind, name) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Names that hold a number of this run would be of no use in another. */
static bool name_lasts(const char *name)
{
	static const char *const prefixes[] = { "futex:", "condvar:", "chan:", "tid:" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return false;
	}
	/* "mutex:0x55f482b110c0": an address, whatever it is of. */
	return *name && !strchr(name, '[') && !strstr(name, " of pid ") && !strstr(name, ":0x");
}

static int wait_add(const struct report *r, struct measures *m, const struct analyze_entry *e, const char *name)
{
	const char *kind = strtab_str(r->m->strings, e->kind_id);
	struct measure x = { .value = (double)report_entry_ns(e),
			     .whole = (double)r->states.total_ns,
			     .sigma = sigma_of(e->count, (double)report_entry_ns(e), e->squares),
			     .unit = MEASURE_NS,
			     .sort = MEASURE_WAIT };

	kind = *kind ? kind : wait_reason_name(e->reason);
	return *name && strcmp(name, kind) != 0 ? add(m, &x, "wait:%s:%s", kind, name) : add(m, &x, "wait:%s", kind);
}

static int waits_add(const struct report *r, struct measures *m)
{
	for (size_t i = 0; i < r->kinds.n; i++) {
		if (wait_add(r, m, &r->kinds.entries[i], "") < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < r->resources.n; i++) {
		const struct analyze_entry *e = &r->resources.entries[i];
		const char *name = strtab_str(r->m->strings, e->name_id);

		/* "sleep", waiting for sleep, is there by its kind. */
		if (name_lasts(name) && strcmp(name, strtab_str(r->m->strings, e->kind_id)) != 0 &&
		    wait_add(r, m, e, name) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int functions_add(const struct report *r, struct measures *m)
{
	const struct analyze_frames *f = &r->frames[ANALYZE_FRAMES_SELF];

	for (size_t i = 0; i < f->n; i++) {
		const struct analyze_frame *e = &f->list[i];
		_cleanup_(freep) char *name = e->none ? NULL : report_frame_name(r->m, &e->frame, true);
		struct measure x = { .value = (double)e->cpu_ns,
				     .whole = (double)f->all_cpu_ns,
				     .unit = MEASURE_NS,
				     .sigma = e->cpu_n ? (double)e->cpu_ns / sqrt((double)e->cpu_n) : -1,
				     .sort = MEASURE_FUNCTION };

		if (e->cpu_n && name && add(m, &x, "cpu:%s", name) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Time on the critical path by class of op. */
static int path_add(const struct report *r, struct measures *m)
{
	size_t n = replay_class_n(r->replay);
	_cleanup_(freep) double *by_class = calloc(n + 1, sizeof(*by_class));

	if (!by_class)
		return -ENOMEM;
	for (size_t i = 0; i < r->stretch_n; i++) {
		const struct replay_stretch *s = &r->stretches[i];

		by_class[s->class < n ? s->class : n] += (double)(s->end_ns - s->start_ns);
	}
	for (size_t i = 0; i < n; i++) {
		const struct replay_class *c = replay_class(r->replay, i);
		const char *kind = c->op_kind == OP_INTERNAL ? "thread" : op_kind_name(c->op_kind);
		struct measure x = { .value = by_class[i], .whole = (double)r->replay_facts.makespan_ns, .sigma = -1,
				     .unit = MEASURE_NS, .sort = MEASURE_PATH };

		if (c->kind == REPLAY_CLASS_OP && x.value > 0 &&
		    add(m, &x, "path:%s:%s", kind, strtab_str(r->m->strings, c->name_id)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int key_compare(const void *a, const void *b)
{
	return strcmp(((const struct measure *)a)->key, ((const struct measure *)b)->key);
}

/* Two functions of one name, of two libraries; two kinds of wait of one word: they are one to whoever names them. */
static void twins_merge(struct measures *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->n; i++) {
		struct measure *last = kept ? &m->list[kept - 1] : NULL;

		if (!last || strcmp(last->key, m->list[i].key) != 0) {
			m->list[kept++] = m->list[i];
			continue;
		}
		last->value += m->list[i].value;
		last->sigma = last->sigma < 0 || m->list[i].sigma < 0 ? -1 : hypot(last->sigma, m->list[i].sigma);
		free(m->list[i].key);
	}
	m->n = kept;
}

int measures_make(struct report *r, struct measures *ret)
{
	static const enum report_section needed[] = { SECTION_WALL, SECTION_OPEN, SECTION_CLASSES, SECTION_RESOURCES,
						      SECTION_SELF, SECTION_PATH };
	_cleanup_(measures_done) struct measures m = { 0 };

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (report_section_make(r, needed[i]) < 0)
			return -ENOMEM;
	}
	if (whole_add(r, &m) < 0 || states_add(r, &m) < 0 || waits_add(r, &m) < 0 || functions_add(r, &m) < 0 ||
	    path_add(r, &m) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->class_n; i++) {
		if (class_add(r, &m, &r->classes[i]) < 0)
			return -ENOMEM;
	}
	qsort(m.list, m.n, sizeof(*m.list), key_compare);
	twins_merge(&m);
	*ret = m;
	m = (struct measures){ 0 };
	return 0;
}

void measures_done(struct measures *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->list[i].key);
	free(m->list);
	*m = (struct measures){ 0 };
}

/* "p50:X" is "p50:KIND:X" if there is one kind only. */
static bool is_short_for(const char *key, const char *given)
{
	const char *colon = strchr(given, ':');
	size_t word = colon ? (size_t)(colon - given) + 1 : 0;
	const char *kind_end = word && strncmp(key, given, word) == 0 ? strchr(key + word, ':') : NULL;

	return kind_end && strcmp(kind_end + 1, given + word) == 0;
}

const struct measure *measures_find(const struct measures *m, const char *key, bool *ret_several)
{
	const struct measure wanted = { .key = (char *)(uintptr_t)key };
	const struct measure *found = m->n ? bsearch(&wanted, m->list, m->n, sizeof(wanted), key_compare) : NULL;

	*ret_several = false;
	if (found)
		return found;
	for (size_t i = 0; i < m->n; i++) {
		if (!is_short_for(m->list[i].key, key))
			continue;
		*ret_several = found != NULL;
		if (found)
			return NULL;
		found = &m->list[i];
	}
	return found;
}
