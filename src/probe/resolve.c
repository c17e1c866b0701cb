/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A definition and a file give functions, each function a meaning and its
 * sites. Nothing that fails here is an error of the whole: it becomes a note,
 * and the other definitions go on.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "probe/plan.h"
#include "probe/set.h"
#include "util/text.h"
#include "util/vec.h"

/* A pattern that means more functions than this was hardly meant so; points are few. */
#define FUNCTIONS_MAX 1000

/* ---- the plan ---- */

struct probe_plan *probe_plan_free(struct probe_plan *p)
{
	if (!p)
		return NULL;
	free(p->points);
	free(p->sites);
	free(p->notes);
	free(p->findings);
	free(p->inlined);
	pool_free(p->pool);
	free(p);
	return NULL;
}

int plan_note(struct planning *p, enum probe_severity severity, const char *place, const char *symbol, const char *fmt,
	      ...)
{
	_cleanup_(freep) char *message = NULL;
	struct probe_plan *plan = p->plan;
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	message = text_vformat(fmt, ap);
	va_end(ap);
	if (!message)
		return -ENOMEM;
	text = pool_printf(plan->pool, "%s%s%s: %s", place ? place : "", place ? ": " : "", symbol, message);
	if (!text || VEC_RESERVE(plan->notes, p->note_cap, plan->note_n + 1) < 0)
		return -ENOMEM;
	plan->notes[plan->note_n++] = (struct probe_note){.severity = severity, .text = text};
	return 0;
}

const char *plan_place(struct planning *p, const struct definition *d, unsigned int line)
{
	return line ? pool_printf(p->plan->pool, "%s:%u", d->source_name, line) : d->place;
}

void plan_found(struct planning *p, size_t definition, enum probe_finding finding)
{
	if (p->plan->findings[definition] < finding)
		p->plan->findings[definition] = (uint8_t)finding;
}

int plan_add_point(struct planning *p, const struct probe_point *point, uint32_t *ret)
{
	if (VEC_RESERVE(p->plan->points, p->point_cap, p->plan->point_n + 1) < 0)
		return -ENOMEM;
	*ret = (uint32_t)p->plan->point_n;
	p->plan->points[p->plan->point_n++] = *point;
	return 0;
}

int plan_add_site(struct planning *p, const struct probe_site *site)
{
	struct probe_site s = *site;

	if (objfile_offset_of_vaddr(p->file.o->file, s.vaddr, &s.file_offset) < 0)
		return plan_note(p, PROBE_CAVEAT, NULL, s.symbol, "the address %#llx is not in the file",
				 (unsigned long long)s.vaddr);
	if (VEC_RESERVE(p->plan->sites, p->site_cap, p->plan->site_n + 1) < 0)
		return -ENOMEM;
	p->plan->sites[p->plan->site_n++] = s;
	return 0;
}

/* Go's jump to where the stack grows, and then back to the begin: the function is entered if it isn't taken. */
int8_t plan_entry_condition(const struct objfile_spot *entry)
{
	/* Of x86's conditions each is followed by its opposite. */
	return entry->repeats && entry->branch != OBJFILE_ALWAYS ? (int8_t)(entry->branch ^ 1) : OBJFILE_ALWAYS;
}

/* ---- sites of a function ---- */

struct placing {
	struct planning *p;
	const struct functions *all; /* of its pattern */
	const struct definition *d;
	size_t index; /* of the definition */
	const struct function *fn;
	const char *place;
	const struct meaning *m;
	uint32_t point;
};

static struct probe_site site_base(const struct placing *pl, const struct objfile_spot *at, enum wcbpf_site_kind kind)
{
	struct probe_site s = {.vaddr = at->vaddr,
			       .point = pl->point,
			       .symbol = pl->fn->name,
			       .function = pl->fn->vaddr,
			       .step = at->step,
			       .repeats = at->repeats,
			       .condition = OBJFILE_ALWAYS};
	int moment = kind == WCBPF_SITE_EXIT;

	s.go = pl->fn->go;
	s.wire.kind = (uint8_t)kind;
	s.wire.flags = pl->d->takes_stack && kind != WCBPF_SITE_EXIT ? WCBPF_SITE_STACK : 0;
	s.wire.cfa_reg = at->cfa_reg;
	s.wire.cfa_off = at->cfa_off;
	s.wire.fetch_n = pl->m->fetch_n[moment];
	memcpy(s.wire.fetch, pl->m->fetch[moment], sizeof(s.wire.fetch));
	memcpy(s.text, at->text, sizeof(s.text));
	s.text[sizeof(s.text) - 1] = 0;
	return s;
}

static int entry_add(const struct placing *pl, const struct objfile_scan *scan)
{
	bool mark = pl->d->exit == DEFINITION_EXIT_NONE;
	struct probe_site s = site_base(pl, &scan->entry, mark ? WCBPF_SITE_MARK : WCBPF_SITE_ENTRY);

	s.condition = plan_entry_condition(&scan->entry);
	if (s.repeats && s.condition == OBJFILE_ALWAYS)
		pl->p->plan->points[pl->point].entry_repeats = true;
	return plan_add_site(pl->p, &s);
}

struct probe_site plan_exit_site(const struct probe_site *like, const struct objfile_exit *e)
{
	struct probe_site s = *like;

	s.vaddr = e->at.vaddr;
	s.step = e->at.step;
	s.repeats = e->at.repeats;
	s.condition = e->condition;
	s.wire.cfa_reg = e->at.cfa_reg;
	s.wire.cfa_off = e->at.cfa_off;
	memcpy(s.text, e->at.text, sizeof(s.text));
	s.text[sizeof(s.text) - 1] = 0;
	return s;
}

bool plan_entry_leaves(struct planning *p, const struct probe_site *exit)
{
	for (size_t i = 0; i < p->plan->site_n; i++) {
		struct probe_site *s = &p->plan->sites[i];

		if (s->vaddr == exit->vaddr && s->point == exit->point && s->wire.kind == WCBPF_SITE_ENTRY) {
			s->wire.kind = WCBPF_SITE_MARK;
			return true;
		}
	}
	return false;
}

static int return_add(const struct placing *pl, const struct probe_site *exit)
{
	if (plan_entry_leaves(pl->p, exit))
		return plan_note(pl->p, PROBE_NOTE, pl->place, pl->fn->name,
				 "it only returns: its calls are recorded, each of no length%s",
				 exit->wire.fetch_n ? "; its results aren't known" : "");
	return plan_add_site(pl->p, exit);
}

/* Jumps to other functions wait until it is known which functions are probed. */
static int exits_add(const struct placing *pl, const struct objfile_scan *scan)
{
	struct planning *p = pl->p;

	for (size_t i = 0; i < scan->exit_n; i++) {
		const struct objfile_exit *e = &scan->exits[i];
		struct probe_site like = site_base(pl, &e->at, WCBPF_SITE_EXIT), s = plan_exit_site(&like, e);
		int r = 0;

		if (!e->tail)
			r = return_add(pl, &s);
		else if (VEC_RESERVE(p->tails, p->tail_cap, p->tail_n + 1) < 0)
			r = -ENOMEM;
		else
			p->tails[p->tail_n++] = (struct tail){.site = s, .target = e->target};
		if (r < 0)
			return r;
	}
	if (!scan->exit_n)
		return plan_note(p, PROBE_NOTE, pl->place, pl->fn->name,
				 "it never returns: what it does ends with its thread");
	return 0;
}

static int return_probe_add(const struct placing *pl)
{
	struct objfile_spot at = {
		.vaddr = pl->fn->vaddr, .cfa_reg = 7, .text = "(return address)", .step = OBJFILE_STEP_SINGLE};
	struct probe_site s = site_base(pl, &at, WCBPF_SITE_EXIT);
	int r;

	s.return_probe = true;
	r = plan_add_site(pl->p, &s);
	return r < 0 ? r
		     : plan_note(pl->p, PROBE_NOTE, pl->place, pl->fn->name,
				 "a return probe, as asked for: C++ exceptions and the "
				 "cancelling of threads must not pass through it");
}

#define NAMES_TOLD 3

/* Of one constructor or destructor, for complete objects and for bases: C1 and C2, D0 to D2 in C++'s names. */
static bool are_structors(const char *a, const char *b)
{
	size_t i = 0;

	while (a[i] && a[i] == b[i])
		i++;
	return !strncmp(a, "_ZN", 3) && i > 3 && (a[i - 1] == 'C' || a[i - 1] == 'D') && a[i] && b[i] &&
	       !strcmp(a + i + 1, b + i + 1);
}

/* Other functions than that of a symbol at an address, "a, b, c, ..."; how many. */
static size_t others_at(struct planning *p, uint64_t vaddr, const char *symbol, char *ret, size_t size)
{
	const struct objfile_names *names = file_names(&p->file);
	const struct objfile_name *other;
	const char *last = symbol;
	size_t n = 0, len = 0;

	*ret = 0;
	for (size_t i = 0; names && (other = objfile_names_at(names, vaddr, i)); i++) {
		if (objfile_names_alike(other->name, symbol) || objfile_names_alike(other->name, last) ||
		    are_structors(other->name, symbol))
			continue;
		last = other->name;
		if (n++ < NAMES_TOLD && len < size)
			len += (size_t)snprintf(ret + len, size - len, "%s%s", n > 1 ? ", " : "", other->name);
	}
	if (n > NAMES_TOLD && len < size)
		snprintf(ret + len, size - len, ", ...");
	return n;
}

/* Calls of another function count as its own: what has one address was one function, or was made one by the linker. */
static int function_notes(const struct placing *pl)
{
	char others[160];
	size_t n;

	if (pl->fn->go)
		return 0;
	n = others_at(pl->p, pl->fn->vaddr, pl->fn->raw, others, sizeof(others));
	if (!n)
		return 0;
	return plan_note(pl->p, PROBE_CAVEAT, pl->place, pl->fn->name,
			 "%zu other function%s the same address (%s): calls of %s are counted too", n,
			 n == 1 ? " has" : "s have", others, n == 1 ? "it" : "them");
}

static int refused(const struct placing *pl, const char *why)
{
	plan_found(pl->p, pl->index, PROBE_REFUSED);
	return plan_note(pl->p, PROBE_CAVEAT, pl->place, pl->fn->name, "not probed: %s", why);
}

/*
 * A function that goroutines call, where they can't be told apart: its ops would nest by the thread that happened to
 * run them. Where Go's own tables can't be used all functions of Go have a dot in their names, and none of C.
 */
static bool is_of_unknown_go(const struct planning *p, const struct function *fn)
{
	return p->go_refusal && (fn->go || (!p->file.o->go && strchr(fn->raw, '.')));
}

static int sites_add(struct placing *pl, const struct objfile_scan *scan)
{
	int r = plan_add_point(pl->p, &pl->m->point, &pl->point);

	if (r == 0)
		r = entry_add(pl, scan);
	if (r == 0 && pl->d->exit == DEFINITION_EXIT_ALL)
		r = exits_add(pl, scan);
	if (r == 0 && pl->d->exit == DEFINITION_EXIT_RETURN)
		r = return_probe_add(pl);
	if (r == 0)
		r = function_notes(pl);
	plan_found(pl->p, pl->index, PROBE_FOUND);
	return r;
}

/*
 * Is it a version of a function that only jumps to another version, as glibc's old pthread_cond_wait? Probed too, it
 * would count each call twice.
 */
static bool leads_to_twin(const struct placing *pl, const struct objfile_scan *scan)
{
	for (size_t i = 0; i < scan->exit_n; i++)
		for (size_t k = 0; scan->exits[i].tail && k < pl->all->n; k++)
			if (pl->all->v[k].vaddr == scan->exits[i].target && &pl->all->v[k] != pl->fn &&
			    !strcmp(pl->all->v[k].name, pl->fn->name)) {
				pl->p->plan->duplicates++;
				return true;
			}
	return false;
}

/*
 * A first instruction that leaves the function in some of its calls: of two probes there, which comes first is the
 * kernel's affair.
 */
static bool may_leave_at_once(const struct objfile_scan *scan)
{
	for (size_t i = 0; i < scan->exit_n; i++)
		if (scan->exits[i].at.vaddr == scan->entry.vaddr && scan->exits[i].condition != OBJFILE_ALWAYS)
			return true;
	return false;
}

static int function_plan(struct placing *pl)
{
	struct binding b = {.d = pl->d, .file = &pl->p->file, .fn = pl->fn, .pool = pl->p->plan->pool};
	_cleanup_(objfile_scan_done) struct objfile_scan scan = {0};
	struct objfile_why why = {0};
	struct meaning m;
	int r;

	if (pl->fn->ifunc)
		return refused(
			pl,
			"an indirect function (IFUNC): the code there only chooses the one that is run; name that one");
	if (pl->d->exit == DEFINITION_EXIT_RETURN && (pl->p->file.o->go || pl->p->file.o->go_why))
		return refused(pl, "a return probe would kill a Go program; leave out exit = return");
	if (is_of_unknown_go(pl->p, pl->fn))
		return refused(pl, pl->p->go_refusal);
	if (!file_code(&pl->p->file))
		return refused(pl, "code of this machine can't be read");
	r = meaning_make(pl->p, &b, pl->place, &m);
	if (r <= 0) {
		plan_found(pl->p, pl->index, PROBE_REFUSED);
		return r;
	}
	m.point.definition = (uint32_t)pl->index;
	pl->m = &m;
	r = objfile_code_scan(pl->p->file.code, pl->fn->vaddr, pl->fn->size, m.needs, &scan, &why);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return refused(pl, why.text[0] ? why.text : "its code can't be read");
	if (leads_to_twin(pl, &scan))
		return 0;
	if (!scan.exits_known && pl->d->exit == DEFINITION_EXIT_ALL)
		return refused(pl, scan.why_not.text[0] ? scan.why_not.text : "its exits can't be found");
	if (may_leave_at_once(&scan) && pl->d->exit == DEFINITION_EXIT_ALL)
		return refused(pl, "its first instruction is a conditional jump to another function");
	return sites_add(pl, &scan);
}

/* ---- functions of a definition ---- */

static bool is_planned(const struct planning *p, size_t definition, uint64_t vaddr)
{
	for (size_t i = p->plan->site_n; i > 0; i--) {
		const struct probe_site *s = &p->plan->sites[i - 1];

		if (s->point == PROBE_NO_POINT || p->plan->points[s->point].definition != definition)
			return false;
		if (s->function == vaddr)
			return true;
	}
	return false;
}

static int inlined_note(struct planning *p, const struct definition *d, size_t index, const struct symbol_pattern *s,
			const char *place, bool found)
{
	uint32_t n = d->files.v[0].kind == FILE_ANY && !p->file.o->is_program ? 0 : file_inlined(&p->file, s);

	if (!n)
		return 0;
	if (__builtin_add_overflow(p->plan->inlined[index], n, &p->plan->inlined[index]))
		p->plan->inlined[index] = UINT32_MAX;
	plan_found(p, index, PROBE_ONLY_INLINED);
	if (!found)
		return 0;
	return plan_note(p, PROBE_CAVEAT, place, s->text, "it is also inlined at %u place%s, whose calls are not seen",
			 n, n == 1 ? "" : "s");
}

static int symbol_plan(struct planning *p, size_t index, const struct symbol_pattern *s)
{
	const struct definition *d = &p->set->v[index];
	_cleanup_(functions_done) struct functions fs = {0};
	const char *place = plan_place(p, d, s->line);
	bool found = false;
	int r = place ? file_functions(&p->file, p->plan->pool, s, &fs) : -ENOMEM;

	if (r < 0)
		return r;
	p->plan->duplicates += fs.duplicates;
	if (fs.n > FUNCTIONS_MAX) {
		r = plan_note(p, PROBE_CAVEAT, place, s->text,
			      "%zu functions are meant, of which the first %d are probed", fs.n, FUNCTIONS_MAX);
		fs.n = FUNCTIONS_MAX;
	}
	for (size_t i = 0; r == 0 && i < fs.n; i++) {
		struct placing pl = {.p = p, .d = d, .index = index, .all = &fs, .fn = &fs.v[i], .place = place};

		if (fs.v[i].imported)
			plan_found(p, index, PROBE_IMPORTED);
		else if (is_planned(p, index, fs.v[i].vaddr))
			p->plan->duplicates++;
		else
			r = function_plan(&pl);
		found |= !fs.v[i].imported;
	}
	return r < 0 ? r : inlined_note(p, d, index, s, place, found);
}

/* Does the file have what tells this version of the program from others? */
static int guards_hold(struct planning *p, const struct definition *d, bool *ret)
{
	*ret = true;
	for (size_t i = 0; i < d->guard_n; i++) {
		struct symbol_pattern pattern = {.text = d->guards[i].symbol};
		_cleanup_(functions_done) struct functions fs = {0};
		int r = file_functions(&p->file, p->plan->pool, &pattern, &fs);

		if (r < 0)
			return r;
		if ((fs.n > 0 && !fs.v[0].imported) == d->guards[i].without)
			*ret = false;
	}
	return 0;
}

static int definition_plan(struct planning *p, size_t index)
{
	const struct definition *d = &p->set->v[index];
	bool go = p->file.o->go != NULL, holds;
	int r;

	if (!file_patterns_match(&d->files, p->file.o->path, p->file.o->is_program) ||
	    (d->language == LANGUAGE_GO && !go) || (d->language == LANGUAGE_NATIVE && go))
		return 0;
	r = guards_hold(p, d, &holds);
	if (r < 0 || !holds)
		return r;
	plan_found(p, index, PROBE_MISSING);
	if (d->provider)
		return markers_plan(p, index);
	for (size_t i = 0; r == 0 && i < d->symbol_n; i++) {
		r = symbol_plan(p, index, &d->symbols[i]);
		if (d->first_only && p->plan->findings[index] >= PROBE_REFUSED)
			break;
	}
	return r;
}

static int by_address(const void *a, const void *b)
{
	const struct probe_site *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	if (x->point != y->point)
		return x->point < y->point ? -1 : 1;
	return (int)x->wire.kind - (int)y->wire.kind;
}

int probe_resolve(const struct probe_set *s, const struct probe_object *o, struct probe_plan **ret)
{
	_cleanup_(probe_plan_freep) struct probe_plan *plan = calloc(1, sizeof(*plan));
	struct planning p = {.set = s, .file = {.o = o}, .plan = plan};
	int r;

	if (!plan)
		return -ENOMEM;
	plan->findings = calloc(s->n + 1, sizeof(*plan->findings));
	plan->inlined = calloc(s->n + 1, sizeof(*plan->inlined));
	plan->finding_n = s->n;
	if (!plan->findings || !plan->inlined || pool_new(&plan->pool) < 0)
		return -ENOMEM;
	r = go_runtime_learn(&p);
	for (size_t i = 0; r == 0 && i < s->n; i++)
		r = definition_plan(&p, i);
	if (r == 0)
		r = tails_plan(&p);
	if (r == 0)
		r = go_runtime_plan(&p);
	objfile_go_runtime_done(&p.go_runtime);
	file_done(&p.file);
	free(p.tails);
	if (r < 0)
		return r;
	if (plan->site_n)
		qsort(plan->sites, plan->site_n, sizeof(*plan->sites), by_address);
	*ret = TAKE_PTR(plan);
	return 0;
}
