/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A function is a class wherever it stands in a stack, so every stretch of time
 * has as many names as its stack has frames: main(), the loop of the thread,
 * what does the work, a wrapper that all use, the C library. One of them is
 * what a reader wants to be told.
 *
 * What a thread or a program begins with (main(), Go's goexit, a language's
 * start-up) is on all of its stacks and so has all of its time; halving it is
 * true and of no use. Such are found by what they do, not by their names:
 * nothing but the C library calls them, and what they call is called by nothing
 * else and has their time. Then these are the better names, however many, and
 * so on inwards.
 */
#include "cmd/report-advice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NO_CLASS = UINT32_MAX, SEVERAL = UINT32_MAX - 1 };

/* Of a class of functions. */
struct caller {
	uint32_t next;	   /* class of functions of the same name, NO_CLASS: none */
	uint32_t class;	   /* that alone calls it, whatever system functions are between; NO_CLASS: none seen, SEVERAL */
	bool is_function;
	double callees_ns; /* time of those that it alone calls */
};

struct report_advice {
	const struct report *r;
	float *depths;	  /* by string: how far from the innermost frame the function lies, on average */
	uint32_t *first;  /* by string: the first class of functions of that name, NO_CLASS: none */
	bool *is_system;  /* by module */
	struct caller *callers; /* by class */
	size_t program_n;
	double programs_ns; /* time of all of them */
};

int64_t report_worth_ns(const struct report *r)
{
	return r->replay_facts.makespan_ns / 200 + 1;
}

static double all_ns(const struct replay_class *c)
{
	return (double)(c->cpu_ns + c->delay_ns);
}

static double path_ns(const struct replay_class *c)
{
	return (double)(c->path_cpu_ns + c->path_delay_ns);
}

static bool nearly(double a, double b)
{
	return b > 0 && a > 0.9 * b && a < 1.1 * b;
}

/* NULL: no memory. */
static float *depths_make(const struct model *m)
{
	size_t n = strtab_n(m->strings);
	float *sum = calloc(n, sizeof(*sum)), *count = calloc(n, sizeof(*count));

	for (size_t i = 1; sum && count && i < m->stack_n; i++) {
		for (uint32_t k = 0; k < m->stacks[i].frame_n; k++) {
			sum[m->stacks[i].frames[k].name_id] += (float)k;
			count[m->stacks[i].frames[k].name_id]++;
		}
	}
	for (size_t i = 0; sum && count && i < n; i++)
		sum[i] /= count[i] > 0 ? count[i] : 1;
	if (!count) {
		free(sum);
		sum = NULL;
	}
	free(count);
	return sum;
}

/* What everybody calls to wait or to begin: nobody makes that faster. */
static bool module_is_system(const struct model *m, uint32_t module)
{
	const char *path = strtab_str(m->strings, m->modules[module].path_id), *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return *path == '[' || strncmp(name, "libc.", 5) == 0 || strncmp(name, "libc-", 5) == 0 ||
	       strncmp(name, "libpthread", 10) == 0 || strncmp(name, "ld-", 3) == 0;
}

static int tables_make(struct report_advice *a)
{
	const struct model *m = a->r->m;
	size_t n = replay_class_n(a->r->replay), string_n = strtab_n(m->strings);

	a->depths = depths_make(m);
	a->first = malloc((string_n + 1) * sizeof(*a->first));
	a->is_system = calloc(m->module_n + 1, sizeof(*a->is_system));
	a->callers = calloc(n + 1, sizeof(*a->callers));
	if (!a->depths || !a->first || !a->is_system || !a->callers)
		return -ENOMEM;
	for (size_t i = 0; i < m->module_n; i++)
		a->is_system[i] = module_is_system(m, (uint32_t)i);
	for (size_t i = 0; i < string_n; i++)
		a->first[i] = NO_CLASS;
	for (uint32_t i = 0; i < n; i++) {
		const struct replay_class *c = replay_class(a->r->replay, i);

		a->program_n += c->kind == REPLAY_CLASS_PROGRAM;
		a->programs_ns += c->kind == REPLAY_CLASS_PROGRAM ? all_ns(c) : 0;
		a->callers[i] = (struct caller){ .next = NO_CLASS, .class = NO_CLASS,
						 .is_function = c->kind == REPLAY_CLASS_FUNCTION };
		if (!a->callers[i].is_function)
			continue;
		a->callers[i].next = a->first[c->name_id];
		a->first[c->name_id] = i;
	}
	return 0;
}

static uint32_t class_of_frame(const struct report_advice *a, const struct model_frame *f)
{
	uint32_t i = a->first[f->name_id];

	while (i != NO_CLASS && replay_class(a->r->replay, i)->module_id != f->module)
		i = a->callers[i].next;
	return i;
}

static void callers_see(struct report_advice *a, const struct model_stack *s)
{
	uint32_t outer = NO_CLASS;

	for (uint32_t k = s->frame_n; k-- > 0;) {
		uint32_t i = a->is_system[s->frames[k].module] ? NO_CLASS : class_of_frame(a, &s->frames[k]);

		if (i == NO_CLASS || i == outer)
			continue;
		if (outer != NO_CLASS && a->callers[i].class != outer)
			a->callers[i].class = a->callers[i].class == NO_CLASS ? outer : SEVERAL;
		outer = i;
	}
}

static void callers_make(struct report_advice *a)
{
	for (size_t i = 1; i < a->r->m->stack_n; i++)
		callers_see(a, &a->r->m->stacks[i]);
	for (size_t i = 0; i < replay_class_n(a->r->replay); i++) {
		uint32_t by = a->callers[i].class;

		if (a->callers[i].is_function && by < SEVERAL)
			a->callers[by].callees_ns += all_ns(replay_class(a->r->replay, i));
	}
}

struct report_advice *report_advice_new(const struct report *r)
{
	_cleanup_(report_advice_freep) struct report_advice *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->r = r;
	if (tables_make(a) < 0)
		return NULL;
	callers_make(a);
	return TAKE_PTR(a);
}

void report_advice_free(struct report_advice *a)
{
	if (!a)
		return;
	free(a->depths);
	free(a->first);
	free(a->is_system);
	free(a->callers);
	free(a);
}

/* Does a thread begin with it, to do nothing but call what is told by itself? */
static bool is_entry(const struct report_advice *a, uint32_t class)
{
	/* A way of calls is no longer than there are functions; recursion through others would have no end. */
	for (size_t steps = 0; class != NO_CLASS; class = a->callers[class].class) {
		const struct replay_class *c;

		if (class == SEVERAL || steps++ > replay_class_n(a->r->replay))
			return false;
		c = replay_class(a->r->replay, class);
		if (a->callers[class].callees_ns < 0.9 * all_ns(c))
			return false;
	}
	return true;
}

/* What all of the programs goes through. */
static bool is_everything(const struct report_advice *a, const struct replay_class *c)
{
	return nearly(all_ns(c), a->programs_ns);
}

static bool is_who(const struct replay_class *c)
{
	return c->kind == REPLAY_CLASS_PROGRAM || c->kind == REPLAY_CLASS_THREAD ||
	       (c->kind == REPLAY_CLASS_OP && c->op_kind == OP_INTERNAL);
}

/* The one program that ran, or the one thread that did all of its work: to halve it is to halve everything. */
static bool is_all_there_is(const struct report_advice *a, const struct replay_class *c)
{
	return is_who(c) && a->program_n == 1 && (c->kind == REPLAY_CLASS_PROGRAM || is_everything(a, c));
}

static bool stack_has(const struct model *m, uint32_t stack, const struct replay_class *c)
{
	const struct model_stack *s = &m->stacks[stack];

	for (uint32_t k = 0; k < s->frame_n; k++) {
		if (s->frames[k].name_id == c->name_id && s->frames[k].module == c->module_id)
			return true;
	}
	return false;
}

/* Is c on all stacks that d is on? */
static bool lies_in(const struct report_advice *a, uint32_t d, uint32_t c)
{
	const struct model *m = a->r->m;
	size_t steps = 0;

	for (uint32_t by = d; by < SEVERAL && steps < replay_class_n(a->r->replay); by = a->callers[by].class, steps++) {
		if (by == c)
			return true;
	}
	for (uint32_t i = 1; i < m->stack_n; i++) {
		if (stack_has(m, i, replay_class(a->r->replay, d)) && !stack_has(m, i, replay_class(a->r->replay, c)))
			return false;
	}
	return true;
}

/*
 * Is d the better name for the time on the path that both are? One that does little else is: a wrapper that the whole
 * program waits in says less than its caller here. Of two that do as little else the one that the other calls: main()
 * and a thread's loop are true and of no use. What others call too, for as long, is something else.
 */
static bool is_better(const struct report_advice *a, uint32_t d_class, uint32_t c_class)
{
	const struct replay_class *d = replay_class(a->r->replay, d_class), *c = replay_class(a->r->replay, c_class);

	if (!nearly(path_ns(c), path_ns(d)))
		return false;
	if (!nearly(all_ns(c), all_ns(d)))
		return all_ns(d) < all_ns(c);
	return a->depths[d->name_id] < a->depths[c->name_id] && lies_in(a, d_class, c_class);
}

/* Is it a function that somebody could change, whatever others are about the same time? */
static bool is_own(const struct report_advice *a, uint32_t class)
{
	const struct replay_class *c = replay_class(a->r->replay, class);

	return c->kind == REPLAY_CLASS_FUNCTION && c->name_id && !a->is_system[c->module_id] &&
	       !is_everything(a, c) && !is_entry(a, class);
}

/* Is the thread one of those that who names? */
static bool is_of(const struct model *m, uint32_t thread, const struct replay_class *who)
{
	const struct model_thread *t = &m->threads[thread];
	const struct model_process *p = &m->processes[t->process];

	return t->comm_id == who->name_id || p->comm_id == who->name_id || m->ops[t->op].class_id == who->name_id ||
	       m->ops[p->op].class_id == who->name_id;
}

/* Was a thread that who names ever seen in the function? Without memory: no. */
static bool does(const struct model *m, const struct replay_class *who, const struct replay_class *function)
{
	_cleanup_(freep) bool *has = calloc(m->stack_n + 1, sizeof(*has));

	for (uint32_t i = 1; has && i < m->stack_n; i++)
		has[i] = stack_has(m, i, function);
	for (size_t i = 1; has && i < m->wait_n; i++) {
		if (has[m->rows[m->waits[i].row].ustack] && is_of(m, m->waits[i].thread, who))
			return true;
	}
	for (size_t i = 1; has && i < m->sample_n; i++) {
		if (has[m->samples[i].ustack] && is_of(m, m->samples[i].thread, who))
			return true;
	}
	return false;
}

/*
 * Who does something says less than what that is. A thread's name says no more than the name of what it begins with;
 * a program's does, where there are several.
 */
static bool is_told_by_function(const struct report_advice *a, const struct replay_class *who)
{
	const struct report *r = a->r;
	bool one = a->program_n <= 1;

	for (uint32_t i = 0; i < replay_class_n(r->replay); i++) {
		const struct replay_class *d = replay_class(r->replay, i);

		if (d->kind == REPLAY_CLASS_FUNCTION && nearly(path_ns(who), path_ns(d)) &&
		    (is_own(a, i) || (one && !a->is_system[d->module_id] && is_entry(a, i))) && does(r->m, who, d))
			return true;
	}
	return false;
}

static bool is_better_known(const struct report_advice *a, uint32_t class)
{
	for (uint32_t i = 0; i < replay_class_n(a->r->replay); i++) {
		if (i != class && a->callers[i].is_function && is_better(a, i, class) && is_own(a, i))
			return true;
	}
	return false;
}

bool report_is_advice(const struct report_advice *a, uint32_t class)
{
	const struct replay_class *c = replay_class(a->r->replay, class);

	/* What has no name nobody can change: ops of a dump without threads are all one such thread's. */
	if (!c->name_id && c->kind != REPLAY_CLASS_RESOURCE)
		return false;
	if (c->kind == REPLAY_CLASS_FUNCTION)
		return is_own(a, class) && !is_better_known(a, class);
	return !is_all_there_is(a, c) && !(is_who(c) && is_told_by_function(a, c));
}
