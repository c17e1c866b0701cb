/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The tables of the page for programs: every number as an integer, times in ns, nothing shortened. */
#include <errno.h>

#include "cmd/answer-json.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"

static void facts_write(const struct report *r, struct json *j)
{
	const struct dump_facts *x = &r->facts;

	json_kv_string(j, "dump", r->path);
	json_kv_uint(j, "dump_count", r->o->input_n ? r->o->input_n : 1);
	json_kv_bool(j, "recorded_by_wcbpf", x->is_wcbpf);
	json_kv_string(j, "version", x->version);
	json_kv_string(j, "host", x->host);
	json_kv_string(j, "kernel", x->kernel);
	json_kv_string(j, "clock", x->clock);
	json_kv_string(j, "target", x->target);
	json_kv_string(j, "command", x->command);
	json_kv_int_or_null(j, "exit_status", x->has_exit_status, x->exit_status);
	json_kv_int(j, "begin_unix_ns", r->m->epoch_unix_ns);
	json_kv_int(j, "duration_ns", r->m->end_ns);
	json_kv_int(j, "recording_ns", r->whole_ns);
	json_kv_uint(j, "op_count", r->m->op_n - 1);
	json_kv_uint(j, "wait_count", r->m->wait_n - 1);
}

static void integrity_write(const struct report *r, struct json *j)
{
	struct report_loss losses[REPORT_LOSSES_MAX];
	size_t n = report_losses(r->m, losses);

	json_key(j, "capture_integrity");
	json_begin_object(j);
	json_kv_string(j, "status", report_is_complete(r) ? "complete" : "partial");
	json_kv_uint(j, "attempted", r->m->integrity.attempted);
	json_kv_uint(j, "recorded", r->m->integrity.recorded);
	json_kv_uint(j, "below_min", r->m->integrity.below_min);
	json_kv_uint(j, "inferred_switches", r->m->integrity.inferred_switches);
	json_key(j, "losses");
	json_begin_object(j);
	for (size_t i = 0; i < n; i++)
		json_kv_uint(j, losses[i].key, losses[i].n);
	json_end_object(j);
	report_damage_json(r, j);
	json_end_object(j);
}

static void user_stacks_write(const struct report *r, struct json *j)
{
	json_key(j, "user_stacks");
	json_begin_object(j);
	json_kv_uint(j, "count", r->facts.user_stack_n);
	json_kv_uint(j, "complete", r->facts.complete_user_stack_n);
	json_end_object(j);
}

static void entry_write(const struct report *r, struct json *j, const struct analyze_entry *e, bool with_reason)
{
	if (with_reason) {
		json_kv_string(j, "reason", wait_reason_name(e->reason));
		json_kv_string(j, "wait_kind", strtab_str(r->m->strings, e->kind_id));
	}
	json_kv_bool(j, "idle_by_design", e->idle);
	json_kv_uint(j, "count", e->count);
	json_kv_uint(j, "blocked_ns", e->blocked_ns);
	json_kv_uint(j, "runnable_ns", e->runnable_ns);
	json_kv_uint(j, "longest_ns", e->longest_ns);
	json_kv_bool(j, "longest_is_cut", e->longest_cut);
}

static void table_write(const struct report *r, struct json *j, const struct analyze_table *t, bool with_reason,
			bool with_name)
{
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, t->n); i++) {
		json_begin_object(j);
		if (with_name)
			json_kv_string(j, "name", strtab_str(r->m->strings, t->entries[i].name_id));
		entry_write(r, j, &t->entries[i], with_reason);
		json_end_object(j);
	}
	json_end_array(j);
}

void report_frames_json(const struct report *r, struct json *j, const char *key, uint32_t stack)
{
	const struct model_stack *s = &r->m->stacks[stack];

	json_key(j, key);
	json_begin_array(j);
	for (uint32_t i = 0; i < s->frame_n; i++) {
		_cleanup_(freep) char *name = NULL;

		/* Most have one; of those that do not one is made up. */
		if (!s->frames[i].name_id)
			name = report_frame_name(r->m, &s->frames[i], false);
		json_string(j, name ? name : strtab_str(r->m->strings, s->frames[i].name_id));
	}
	json_end_array(j);
}

void report_aliases_json(const struct report *r, struct json *j, const char *key, uint32_t stack)
{
	const struct model_stack *s = &r->m->stacks[stack];

	json_key(j, key);
	json_begin_array(j);
	for (uint32_t i = 0; i < s->frame_n; i++)
		json_uint(j, s->frames[i].alias_n);
	json_end_array(j);
}

void report_oncpu_json(const struct report *r, struct json *j)
{
	json_begin_object(j);
	json_kv_uint(j, "sample_hz", r->m->sample_hz);
	json_kv_uint(j, "samples", r->sample_n);
	json_kv_uint(j, "sampled_ns", r->sampled_ns);
	json_kv_uint(j, "unsampled_ns", report_unsampled_ns(r));
	json_key(j, "functions");
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, r->function_n); i++) {
		const struct analyze_function *e = &r->functions[i];

		json_begin_object(j);
		json_kv_uint(j, "oncpu_ns", e->ns);
		json_kv_uint(j, "samples", e->count);
		json_kv_uint(j, "stack_count", e->stack_n);
		json_kv_bool(j, "in_kernel", e->kstack);
		report_frames_json(r, j, "user_frames", e->ustack);
		report_aliases_json(r, j, "user_other_names", e->ustack);
		report_frames_json(r, j, "kernel_frames", e->kstack);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

void report_stacks_json(const struct report *r, struct json *j)
{
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, r->stacks.n); i++) {
		const struct analyze_entry *e = &r->stacks.entries[i];

		json_begin_object(j);
		report_frames_json(r, j, "user_frames", e->stack_u);
		report_aliases_json(r, j, "user_other_names", e->stack_u);
		report_frames_json(r, j, "kernel_frames", e->stack_k);
		entry_write(r, j, e, false);
		json_end_object(j);
	}
	json_end_array(j);
}

void report_threads_json(const struct report *r, struct json *j)
{
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, r->thread_n); i++) {
		const struct model_thread *t = &r->m->threads[r->threads[i]];

		json_begin_object(j);
		json_kv_uint(j, "pid", t->pid);
		json_kv_uint(j, "tid", t->tid);
		json_kv_string(j, "name", strtab_str(r->m->strings, t->comm_id));
		json_kv_bool(j, "accounted", t->has_totals);
		json_kv_int(j, "lifetime_ns", t->end_ns - t->begin_ns);
		json_kv_uint(j, "oncpu_ns", t->oncpu_ns);
		json_kv_uint(j, "runnable_ns", t->runnable_ns);
		json_kv_uint(j, "blocked_ns", t->blocked_ns);
		json_kv_uint(j, "lost_ns", t->lost_ns);
		json_end_object(j);
	}
	json_end_array(j);
}

void report_reasons_json(const struct report *r, struct json *j)
{
	table_write(r, j, &r->kinds, true, false);
}

void report_resources_json(const struct report *r, struct json *j)
{
	table_write(r, j, &r->resources, true, true);
}

void report_wakers_json(const struct report *r, struct json *j)
{
	table_write(r, j, &r->wakers, false, true);
}

void report_ops_json(const struct report *r, struct json *j)
{
	table_write(r, j, &r->ops, false, true);
}

void report_where_json(struct json *j, const char *key, const uint64_t ns[WHERE_MAX])
{
	json_key(j, key);
	json_begin_object(j);
	for (unsigned i = 0; i < WHERE_MAX; i++)
		json_kv_uint(j, analyze_where_name((enum analyze_where)i), ns[i]);
	json_end_object(j);
}

void report_class_json(const struct report *r, struct json *j, enum op_kind kind, uint32_t class_id)
{
	json_kv_string(j, "kind", op_kind_name(kind));
	report_string_json(r, j, "class", class_id);
}

void report_string_json(const struct report *r, struct json *j, const char *key, uint32_t id)
{
	json_kv_string(j, key, id ? strtab_str(r->m->strings, id) : NULL);
}

int report_json_print(const struct report *r, FILE *f)
{
	_cleanup_(json_freep) struct json *j = NULL;
	int e = answer_json_begin(f, "wcbpf_report", &j);

	if (e < 0)
		return e;
	facts_write(r, j);
	integrity_write(r, j);
	user_stacks_write(r, j);
	json_kv_bool(j, "idle_by_design_left_out", !r->o->everything);
	for (unsigned i = 0; i < SECTION_MAX; i++) {
		if (!(r->sections >> i & 1))
			continue;
		json_key(j, report_section_name((enum report_section)i));
		report_section_rows[i].json(r, j);
	}
	return answer_json_end(j);
}
