/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What ops have below them, and what was done for whom. */
#include "cmd/report-sections.h"

enum { CHILD_COLUMNS = 51, CLIENT_COLUMNS = 61 };

int report_children_make(struct report *r)
{
	return analyze_children(r->m, &r->filter, &r->children, &r->child_n);
}

void report_children_text(const struct page *p)
{
	const struct report *r = p->r;
	size_t shown = page_lines_shown(r->child_n, page_lines_max(p, SECTION_CHILDREN));

	if (!r->child_n)
		return;
	page_title(p, "  covered  %%of parents    total   count  longest   Children by parent");
	fputs("  covered: at least one ran\n", p->f);
	for (size_t i = 0; i < shown; i++) {
		const struct analyze_child *c = &r->children[i];
		unsigned room = p->columns - CHILD_COLUMNS, used;

		fprintf(p->f, "%9s    ", page_time(c->covered_ns).text);
		page_percent(p->f, c->covered_ns, c->parents_ns);
		fprintf(p->f, " %9s %7s %8s   ", page_time(c->total_ns).text, wording_count(c->count).text,
			page_time(c->longest_ns).text);
		used = c->root ? report_name_print(p->f, "(root)", 0) :
				 page_class_print(p, c->parent_kind, c->parent_class_id, room / 2);
		used += (unsigned)fprintf(p->f, " > ");
		page_class_print(p, c->kind, c->class_id, room > used + 8 ? room - used : 8);
		fputc('\n', p->f);
	}
	page_more(p, r->child_n, shown, CHILD_COLUMNS);
}

void report_children_json(const struct report *r, struct json *j)
{
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, r->child_n); i++) {
		const struct analyze_child *c = &r->children[i];

		json_begin_object(j);
		json_kv_string(j, "parent_kind", c->root ? NULL : op_kind_name(c->parent_kind));
		report_string_json(r, j, "parent_class", c->parent_class_id);
		report_class_json(r, j, c->kind, c->class_id);
		json_kv_uint(j, "count", c->count);
		json_kv_uint(j, "total_ns", c->total_ns);
		json_kv_uint(j, "longest_ns", c->longest_ns);
		json_kv_uint(j, "parents", c->parent_n);
		json_kv_uint(j, "parents_ns", c->parents_ns);
		json_kv_uint(j, "covered_ns", c->covered_ns);
		json_end_object(j);
	}
	json_end_array(j);
}

int report_clients_make(struct report *r)
{
	return analyze_clients(r->m, &r->filter, &r->clients, &r->client_n);
}

void report_clients_text(const struct page *p)
{
	const struct report *r = p->r;
	size_t shown = page_lines_shown(r->client_n, page_lines_max(p, SECTION_CLIENTS));

	if (!r->client_n)
		return;
	page_title(p, "   active    total     ops   open  blocked     from       to   Clients");
	fputs("  active: an op of it ran\n", p->f);
	for (size_t i = 0; i < shown; i++) {
		const struct analyze_client *c = &r->clients[i];

		fprintf(p->f, "%9s %8s %7s %6s %8s %8s %8s   ", page_time(c->active_ns).text,
			page_time(c->total_ns).text, wording_count(c->op_n).text, wording_count(c->open_n).text,
			page_time(c->blocked_ns).text, page_time((uint64_t)c->first_ns).text,
			page_time((uint64_t)c->last_ns).text);
		report_name_print(p->f, page_string(p, c->client_id), p->columns - CLIENT_COLUMNS);
		fputc('\n', p->f);
	}
	page_more(p, r->client_n, shown, CLIENT_COLUMNS);
}

void report_clients_json(const struct report *r, struct json *j)
{
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, r->client_n); i++) {
		const struct analyze_client *c = &r->clients[i];

		json_begin_object(j);
		report_string_json(r, j, "client", c->client_id);
		json_kv_uint(j, "ops", c->op_n);
		json_kv_uint(j, "open", c->open_n);
		json_kv_uint(j, "total_ns", c->total_ns);
		json_kv_uint(j, "active_ns", c->active_ns);
		json_kv_int(j, "first_ns", c->first_ns);
		json_kv_int(j, "last_ns", c->last_ns);
		json_kv_uint(j, "waits", c->wait_n);
		json_kv_uint(j, "blocked_ns", c->blocked_ns);
		json_end_object(j);
	}
	json_end_array(j);
}
