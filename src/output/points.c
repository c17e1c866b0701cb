/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Points that were never hit are listed too: that a function is not called is a finding, and 0 is never silent. */
#include "output/points.h"

static void write_point(struct json *j, const struct output_point *p)
{
	json_begin_object(j);
	json_kv_string(j, "name", p->name);
	json_kv_string(j, "file", p->file);
	json_kv_uint(j, "entries", p->entry_n);
	json_kv_uint(j, "exits", p->exit_n);
	json_kv_uint(j, "by_others", p->other_n);
	json_kv_uint(j, "single_stepped", p->stepped_n);
	json_kv_uint(j, "values", p->value_n);
	json_kv_uint(j, "cost_ns", p->cost_ns);
	json_kv_int_or_null(j, "detached_ns", p->detached, p->detached_ns);
	json_end_object(j);
}

static void kv_known(struct json *j, const char *key, uint64_t v)
{
	json_kv_uint_or_null(j, key, v, v);
}

static void write_lines(struct json *j, const char *key, const char *const *lines)
{
	json_key(j, key);
	json_begin_array(j);
	for (; lines && *lines; lines++)
		json_string(j, *lines);
	json_end_array(j);
}

void points_write(struct json *j, const struct output_facts *f)
{
	uint64_t total_ns = 0;

	if (!f->has_points)
		return;
	json_key(j, "choke_points");
	json_begin_object(j);
	kv_known(j, "hit_ns", f->hit_ns);
	kv_known(j, "single_stepped_hit_ns", f->stepped_hit_ns);
	kv_known(j, "value_ns", f->value_ns);
	json_key(j, "overhead_max");
	if (f->overhead_max > 0)
		json_double(j, f->overhead_max, 4);
	else
		json_null(j);
	for (size_t i = 0; i < f->point_n; i++)
		total_ns += f->points[i].cost_ns;
	json_kv_uint(j, "cost_ns", total_ns);
	json_key(j, "points");
	json_begin_array(j);
	for (size_t i = 0; i < f->point_n; i++)
		write_point(j, &f->points[i]);
	json_end_array(j);
	write_lines(j, "caveats", f->point_caveats);
	write_lines(j, "notes", f->point_notes);
	json_end_object(j);
}

void points_write_detached(struct json *j, const struct output_facts *f)
{
	bool any = false;

	for (size_t i = 0; i < f->point_n; i++) {
		const struct output_point *p = &f->points[i];

		if (!p->detached)
			continue;
		if (!any) {
			json_key(j, "detached_probes");
			json_begin_array(j);
		}
		any = true;
		json_begin_object(j);
		json_kv_string(j, "name", p->name);
		json_kv_int(j, "at_ns", p->detached_ns);
		json_end_object(j);
	}
	if (any)
		json_end_array(j);
}
