/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "cmd/report-replay.h"

#include <math.h>
#include <string.h>

int report_replay_need(struct report *r)
{
	int e;

	if (r->replay)
		return 0;
	e = replay_new(r->m, &(struct replay_options){ .damaged = report_is_damaged(r) }, &r->replay);
	if (e == 0)
		replay_facts(r->replay, &r->replay_facts);
	return e;
}

int report_wcprof_need(struct report *r)
{
	int e = r->replay && !r->has_wcprof ? replay_wcprof_ns(r->replay, &r->wcprof_ns) : 0;

	r->has_wcprof |= e == 0;
	return e;
}

uint32_t report_missing_unsaid(const struct report *r, uint32_t why)
{
	uint32_t missing = r->replay_facts.missing;

	missing &= ~(uint32_t)(why & REPLAY_WHY_LOST ? REPLAY_EVENTS_LOST : 0);
	missing &= ~(uint32_t)(why & REPLAY_WHY_WAKERS ? REPLAY_WAKERS_UNKNOWN : 0);
	missing &= ~(uint32_t)(why & REPLAY_WHY_ANSWERS ? REPLAY_ANSWERS_UNKNOWN : 0);
	return missing & ~(uint32_t)(why & REPLAY_WHY_DAMAGED ? REPLAY_DAMAGED : 0);
}

/* Of an op that is a thread: does that do something in other ops, too? */
static bool is_part_of_thread(const struct report *r, const struct replay_class *op)
{
	for (size_t i = 0; i < replay_class_n(r->replay); i++) {
		const struct replay_class *c = replay_class(r->replay, i);

		if (c->kind == REPLAY_CLASS_THREAD && c->name_id == op->name_id)
			return c->cpu_ns != op->cpu_ns || c->delay_ns != op->delay_ns;
	}
	return false;
}

static bool is_program(const struct model *m, uint32_t name_id)
{
	for (size_t i = 1; i < m->process_n; i++) {
		if (m->processes[i].comm_id == name_id)
			return true;
	}
	return false;
}

/* A thread is told by its name alone where that is its program's, or where there is no room for both. */
static unsigned op_print(const struct page *p, const struct replay_class *c, unsigned columns)
{
	const char *name = page_string(p, c->name_id);

	if (c->op_kind == OP_INTERNAL && *name &&
	    (is_program(p->r->m, c->name_id) || strlen(name) + strlen("goroutine ") > columns))
		return report_name_print(p->f, name, columns);
	return page_class_print(p, c->op_kind, c->name_id, columns);
}

unsigned report_subject_print(const struct page *p, size_t class, unsigned columns)
{
	const struct replay_class *c = class < replay_class_n(p->r->replay) ? replay_class(p->r->replay, class) : NULL;
	const char *name = c ? page_string(p, c->name_id) : "";
	unsigned used;
	bool part;

	if (!c)
		return report_name_print(p->f, "nothing known", columns);
	switch ((enum replay_class_kind)c->kind) {
	case REPLAY_CLASS_OP:
		/* The rest of a thread's time is in ops of their own names. */
		part = c->op_kind == OP_INTERNAL && is_part_of_thread(p->r, c);
		used = op_print(p, c, part && columns > 2 * strlen(" itself") ? columns - (unsigned)strlen(" itself") : columns);
		return part ? used + (unsigned)fprintf(p->f, " itself") : used;
	case REPLAY_CLASS_THREAD:
		used = (unsigned)fprintf(p->f, "thread ");
		break;
	case REPLAY_CLASS_PROGRAM:
		used = (unsigned)fprintf(p->f, "program ");
		break;
	case REPLAY_CLASS_LOCK:
		/* Its kind says as much; an address is told apart by its end. */
		used = columns < 26 || strcmp(page_string(p, c->kind_id), "lock") == 0 ? 0 : (unsigned)fprintf(p->f, "lock ");
		return used + page_thing_print(p, c->reason, c->kind_id, c->name_id, columns - used);
	case REPLAY_CLASS_RESOURCE:
		return page_thing_print(p, c->reason, c->kind_id, c->name_id, columns);
	default:
		used = 0;
	}
	return used + report_name_print(p->f, *name ? name : "?", columns > used + 8 ? columns - used : 8);
}

void report_subject_json(const struct report *r, struct json *j, size_t class)
{
	static const char *const kinds[REPLAY_CLASS_KIND_MAX] = {
		[REPLAY_CLASS_OP] = "op",
		[REPLAY_CLASS_FUNCTION] = "function",
		[REPLAY_CLASS_THREAD] = "thread",
		[REPLAY_CLASS_PROGRAM] = "program",
		[REPLAY_CLASS_RESOURCE] = "resource",
		[REPLAY_CLASS_LOCK] = "lock",
	};
	const struct replay_class *c = class < replay_class_n(r->replay) ? replay_class(r->replay, class) : NULL;

	json_kv_string(j, "of", c ? kinds[c->kind] : NULL);
	if (!c)
		return;
	json_kv_string(j, "name", strtab_str(r->m->strings, c->name_id));
	if (c->kind == REPLAY_CLASS_OP)
		json_kv_string(j, "op_kind", op_kind_name(c->op_kind));
	if (c->kind == REPLAY_CLASS_RESOURCE || c->kind == REPLAY_CLASS_LOCK) {
		json_kv_string(j, "reason", wait_reason_name(c->reason));
		json_kv_string(j, "wait_kind", strtab_str(r->m->strings, c->kind_id));
	}
	if (c->kind == REPLAY_CLASS_FUNCTION)
		json_kv_string(j, "file", strtab_str(r->m->strings, r->m->modules[c->module_id].path_id));
	json_kv_uint(j, "count", c->count);
	json_kv_uint(j, "cpu_ns", c->cpu_ns);
	json_kv_uint(j, "delay_ns", c->delay_ns);
	json_kv_uint(j, "path_cpu_ns", c->path_cpu_ns);
	json_kv_uint(j, "path_delay_ns", c->path_delay_ns);
}

/* One unit for both, that of the higher. */
struct wording report_range(int64_t low_ns, int64_t high_ns)
{
	static const struct {
		int64_t ns;
		const char *unit;
		int decimals;
	} units[] = { { 1000000000, "s", 2 }, { 1000000, "ms", 1 }, { 1000, "us", 1 }, { 1, "ns", 0 } };
	int64_t most = llabs(low_ns) > llabs(high_ns) ? llabs(low_ns) : llabs(high_ns);
	struct wording w;
	size_t i = 0;

	while (i < 3 && most < units[i].ns)
		i++;
	if (!most) {
		snprintf(w.text, sizeof(w.text), "0");
		return w;
	}
	snprintf(w.text, sizeof(w.text), "%.*f-%.*f %s", units[i].decimals, (double)low_ns / (double)units[i].ns,
		 units[i].decimals, (double)high_ns / (double)units[i].ns, units[i].unit);
	return w;
}

void report_outcome_json(struct json *j, const struct replay_outcome *o)
{
	char grade[2] = { o->grade, 0 };

	json_begin_object(j);
	json_kv_int(j, "saves_ns", o->best_ns);
	json_kv_int(j, "saves_low_ns", o->low_ns);
	json_kv_int(j, "saves_high_ns", o->high_ns);
	json_kv_int(j, "e1_ns", o->e1_ns);
	json_kv_int(j, "e2_ns", o->e2_ns);
	json_kv_int(j, "wcprof_ns", o->wcprof_ns);
	json_kv_string(j, "grade", grade);
	json_key(j, "why");
	json_begin_array(j);
	for (unsigned bit = 0; bit < 32; bit++) {
		if (o->why >> bit & 1)
			json_string(j, replay_why_text((enum replay_grade_why)(1u << bit)));
	}
	json_end_array(j);
	json_end_object(j);
}

enum analyze_where report_stretch_where(const struct report *r, const struct replay_stretch *s)
{
	switch ((enum replay_state)s->state) {
	case REPLAY_ONCPU:
		return WHERE_RUNNING;
	case REPLAY_RUNNABLE:
		return WHERE_RUNNABLE;
	case REPLAY_DELAYED:
	case REPLAY_BLOCKED:
		return s->wait ? analyze_wait_where(r->m, &r->m->waits[s->wait]) : WHERE_UNKNOWN;
	default:
		return WHERE_UNKNOWN;
	}
}
