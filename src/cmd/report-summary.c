/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The small file outlives the big one: when the disk had no room for the dump,
 * the summary still has the sums and the largest stacks. Its content is as
 * untrusted as a dump's, so each value is asked for its type.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cmd/report.h"
#include "cmd/wording.h"
#include "util/cleanup.h"
#include "util/files.h"
#include "util/jsonc.h"
#include "util/text.h"

enum { SUMMARY_BYTES_MAX = 64 << 20, NUMBERS_COLUMNS = 31, FRAME_COLUMNS_MAX = 40 };

static const char *string_at(struct json_object *array, size_t i)
{
	struct json_object *v = json_object_array_get_idx(array, i);

	return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

/* "worker: futex_wait < do_futex < ..": the thread, then frames from the innermost on. */
static void stack_print(FILE *f, struct json_object *stack, unsigned columns)
{
	size_t n = json_object_array_length(stack);
	unsigned used;

	if (!n)
		return;
	used = report_name_print(f, string_at(stack, 0), 20) + 2;
	fputs(": ", f);
	for (size_t i = n - 1; i > 0; i--) {
		const char *name = string_at(stack, i);
		size_t width = strlen(name) < FRAME_COLUMNS_MAX ? strlen(name) : FRAME_COLUMNS_MAX;

		if (used + width + (i > 1 ? 5 : 0) > columns) {
			fputs("..", f);
			return;
		}
		used += report_name_print(f, name, FRAME_COLUMNS_MAX) + 3;
		if (i > 1)
			fputs(" < ", f);
	}
}

/* Of mode wall: time of all kinds, which its rows end with ([on-cpu], [runnable], .. or a wait's). */
static bool is_wall(struct json_object *summary)
{
	const char *mode = jsonc_text(summary, "mode");

	return mode && strcmp(mode, "wall") == 0;
}

static void rows_print(FILE *f, struct json_object *summary, struct json_object *rows, unsigned columns,
		       size_t row_n_max)
{
	uint64_t total_us = jsonc_uint(summary, "total_us"), row_n = jsonc_uint(summary, "row_count");
	size_t n = json_object_array_length(rows), shown = n < row_n_max ? n : row_n_max;

	fprintf(f, "\n     total      %%     count   %s  thread, innermost %sfunction first\n",
		is_wall(summary) ? "Wall time by stack" : "Blocked time by stack", is_wall(summary) ? "state or " : "");
	for (size_t i = 0; i < shown; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		struct json_object *stack = jsonc_member(row, "stack", json_type_array);
		uint64_t us = jsonc_uint(row, "value_us");

		fprintf(f, "%10s %5.1f%% %9s   ", wording_duration(us > UINT64_MAX / 1000 ? UINT64_MAX : us * 1000).text,
			total_us ? 100.0 * (double)us / (double)total_us : 0, wording_count(jsonc_uint(row, "count")).text);
		if (stack)
			stack_print(f, stack, columns - NUMBERS_COLUMNS);
		fputc('\n', f);
	}
	if (row_n > shown)
		fprintf(f, "%27s   and %s more\n", "", wording_counted(row_n - shown, "stack", NULL).text);
}

static int summary_parse(const char *folder, struct json_object **ret)
{
	_cleanup_(freep) char *path = NULL, *text = NULL;
	int r;

	path = text_format("%s/offcpu.summary.json", folder);
	if (!path)
		return -ENOMEM;
	r = files_read(AT_FDCWD, path, SUMMARY_BYTES_MAX, &text, NULL);
	if (r == 0)
		*ret = json_tokener_parse(text);
	return r;
}

int report_summary_print(const char *folder, FILE *f, unsigned columns, size_t row_n_max)
{
	_cleanup_(jsonc_putp) struct json_object *summary = NULL;
	struct json_object *rows;
	const char *message;
	uint64_t total_us;
	int r = summary_parse(folder, &summary);

	if (r == -ENOMEM)
		return r;
	rows = jsonc_member(summary, "rows", json_type_array);
	if (r < 0 || !rows || !json_object_array_length(rows))
		return 0;
	total_us = jsonc_uint(summary, "total_us");
	fprintf(f, "wcbpf  the summary of ");
	report_name_print(f, folder, 60);
	fprintf(f, ", for want of a dump   %s   %s\n",
		wording_duration(jsonc_uint(jsonc_member(summary, "window", json_type_object), "duration_ns")).text,
		wording_counted(jsonc_uint(summary, "thread_count"), "thread", NULL).text);
	message = jsonc_text(summary, "caveat_message");
	if (message) {
		fputs("capture PARTIAL   ", f);
		report_name_print(f, message, 0);
		fputc('\n', f);
	}
	fprintf(f, "%s: %s in %s\n", is_wall(summary) ? "all threads, on the CPU or off" : "blocked",
		wording_duration(total_us > UINT64_MAX / 1000 ? UINT64_MAX : total_us * 1000).text,
		wording_counted(jsonc_uint(summary, "row_count"), "stack", NULL).text);
	rows_print(f, summary, rows, columns, row_n_max);
	return 1;
}
