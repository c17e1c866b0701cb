/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What was recorded, and whether the numbers below can be trusted. */
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/report-points.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"

enum { LOSSES_SHOWN = 3, KINDS_MAX = 3 };

/* Text of a part of the line, NULL: no memory. */
static char *part_make(const struct page *p, void (*print)(const struct page *p, FILE *f))
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	print(p, f);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

/* How it ended, how long, how much of it. */
static void outcome_print(const struct page *p, FILE *f)
{
	const struct report *r = p->r;

	if (r->facts.has_exit_status)
		fprintf(f, "  %s", wording_status(r->facts.exit_status).text);
	fprintf(f, "  %s", page_time((uint64_t)r->m->end_ns).text);
	if (r->time.thread_n)
		fprintf(f, "  %s, %s", wording_counted(r->time.process_n, "process", "processes").text,
			wording_counted(r->time.thread_n, "thread", NULL).text);
	if (r->m->cpu_n)
		fprintf(f, "  %s", wording_counted(r->m->cpu_n, "CPU", NULL).text);
}

/* A long command gets what the rest of its line leaves. */
static void identity_print(const struct page *p, FILE *f)
{
	const struct dump_facts *x = &p->r->facts;
	_cleanup_(freep) char *outcome = part_make(p, outcome_print);
	unsigned used = (unsigned)strlen("wcbpf: ") + (outcome ? (unsigned)strlen(outcome) : 0);
	unsigned room = p->columns > used + 20 ? p->columns - used : 20;

	report_name_print(f, x->command ? x->command : x->target ? x->target : p->r->path,
			  room < p->columns / 2 ? room : p->columns / 2);
	fputs(outcome ? outcome : "", f);
}

/* Those behind the first few are counted only. */
static void other_losses_print(const struct page *p, const void *arg)
{
	const struct report_loss *losses = arg;
	size_t n = 0;

	for (; losses[n].n && n < LOSSES_SHOWN; n++)
		fprintf(p->f, "%s%s %s", n ? "; " : "", wording_count(losses[n].n).text, losses[n].words);
	while (losses[n].n)
		n++;
	if (n > LOSSES_SHOWN)
		fprintf(p->f, "; and %zu other kinds (--json)", n - LOSSES_SHOWN);
}

/* What is missing from the tables, and everything else in the order of weight. */
static void losses_print(const struct page *p)
{
	struct report_loss losses[REPORT_LOSSES_MAX + 1] = { { 0 } };
	size_t n = report_losses(p->r->m, losses), first = p->r->m->integrity.dropped_events != 0;

	if (first)
		fprintf(p->f, "%s  LOST %s %s%s\n", p->bad, wording_count(losses[0].n).text, losses[0].words, p->plain);
	if (n > first) {
		fprintf(p->f, "%s  LOST%s ", p->bad, p->plain);
		page_wrapped(p, 7, other_losses_print, losses + first);
	}
	if (p->r->partial)
		fprintf(p->f, "%s  CUT DUMP the disk was full while it was written: the tables show its beginning%s\n",
			p->bad, p->plain);
	else if (p->r->problem.message[0])
		fprintf(p->f, "%s  DAMAGED FILE %s; the rest was used%s\n", p->bad, p->r->problem.message, p->plain);
}

const char *report_left_out_word(const struct report *r)
{
	return wording_left_out(r->facts.options);
}

bool report_off_print(const struct page *p)
{
	const struct model_integrity *i = &p->r->m->integrity;
	const char *options = p->r->facts.options;

	if (p->r->m->wait_n > 1 || i->recorded || !i->out_of_scope || !options || wording_has_option(options, "--only") ||
	    !wording_has_option(options, "--start-off"))
		return false;
	fprintf(p->f, "Recording was off whenever a thread stopped running (--start-off): of %s none was recorded. A "
		      "POST of \"on\" to the address of --listen switches it on.\n",
		wording_counted(i->out_of_scope, "interval", NULL).text);
	return true;
}

bool report_missing_print(const struct page *p)
{
	const struct dump_problem *x = &p->r->problem;
	bool most = x->missing_n > x->announced_n / 2;

	if (!most && (p->r->states.total_ns || !report_is_damaged(p->r)))
		return false;
	if (x->missing_n)
		fprintf(p->f, "The file is cut or damaged: %s of its %s events are missing.\n",
			wording_count(x->missing_n).text, wording_count(x->announced_n).text);
	else
		fputs("The file is cut or damaged: nothing in it can be used.\n", p->f);
	return true;
}

static void damage_text(const struct page *p, const void *arg)
{
	(void)arg;
	fputs("DAMAGED FILE ", p->f);
	report_path_print(p->f, p->r->path, 40);
	if (p->r->partial)
		fputs(": the disk was full while it was written\n", p->f);
	else
		fprintf(p->f, ", %s; the rest was used\n", p->r->problem.message);
}

void report_damage_print(const struct page *p)
{
	if (!report_is_damaged(p->r))
		return;
	fprintf(p->f, "%s  ", p->bad);
	page_wrapped(p, 2, damage_text, NULL);
	fputs(p->plain, p->f);
}

void report_damage_json(const struct report *r, struct json *j)
{
	json_kv_string(j, "file_problem", r->problem.message[0] ? r->problem.message : NULL);
	json_kv_bool(j, "dump_is_cut", r->partial);
	json_kv_uint(j, "bad_lines", r->problem.bad_n);
	json_kv_uint(j, "missing_events", r->problem.missing_n);
}

/* "; stacks 99.9%": how many intervals that blocked have a user stack that is sure to be whole. Never rounded up. */
static void stacks_share_print(const struct page *p, FILE *f)
{
	uint64_t all = p->r->facts.user_stack_n, whole = p->r->facts.complete_user_stack_n;
	unsigned permille = all ? (unsigned)(1000.0 * (double)whole / (double)all) : 0;

	if (!all)
		return;
	if (whole >= all)
		fputs("; stacks 100%", f);
	else
		fprintf(f, "; stacks %u.%u%%", permille / 10, permille % 10);
}

static uint64_t lost_n(const struct model *m)
{
	struct report_loss losses[REPORT_LOSSES_MAX];
	size_t n = report_losses(m, losses);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += losses[i].n;
	return sum;
}

static void capture_print(const struct page *p, FILE *f)
{
	bool complete = report_is_complete(p->r);

	if (p->r->profile) {
		fprintf(f, "a sampling profile (%u samples a second)", p->r->m->sample_hz);
		return;
	}
	if (!p->r->facts.is_wcbpf) {
		fprintf(f, "not recorded by wcbpf (%s dropped; nothing else is counted)",
			wording_counted(dump_dropped_events(p->r->m), "event", NULL).text);
		return;
	}
	fprintf(f, "%scapture %s%s (lost %s", complete ? p->good : p->bad, complete ? "COMPLETE" : "PARTIAL", p->plain,
		wording_count(lost_n(p->r->m)).text);
	if (p->r->problem.missing_n)
		fprintf(f, "; missing %s", wording_count(p->r->problem.missing_n).text);
	stacks_share_print(p, f);
	fputc(')', f);
}

void report_head_print(const struct page *p)
{
	_cleanup_(freep) char *identity = part_make(p, identity_print), *capture = part_make(p, capture_print);
	size_t color = strlen(p->good) + strlen(p->plain);

	if (!identity || !capture)
		return;
	/* One line if there is room for it. */
	fprintf(p->f, "%swcbpf:%s %s%s%s\n", p->bold, p->plain, identity,
		strlen(identity) + strlen(capture) - color + 10 > p->columns ? "\n       " : "   ", capture);
	losses_print(p);
	report_missing_points_print(p);
	report_detached_print(p);
}

/* ", pid 1,2": each condition behind the one before. */
static void ids_print(const struct page *p, const char **before, const char *word, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fprintf(p->f, "%s%s%" PRIu32, i ? "" : *before, i ? "," : word, ids[i]);
	*before = n ? "; " : *before;
}

static void words_print(const struct page *p, const char **before, const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fprintf(p->f, "%s%s", i ? "" : *before, i ? ", " : word);
		report_name_print(p->f, words[i], 40);
	}
	*before = n ? "; " : *before;
}

void report_filter_print(const struct page *p)
{
	const struct report_options *o = p->r->o;
	const char *before = "only ";

	if (o->has_time) {
		fprintf(p->f, "%s%s to %s of %s (times below are from its begin)", before,
			page_time((uint64_t)o->from_ns).text, page_time((uint64_t)(o->from_ns + p->r->m->end_ns)).text,
			page_time((uint64_t)p->r->whole_ns).text);
		before = "; ";
	}
	words_print(p, &before, "ops of class ", o->classes, o->class_n);
	words_print(p, &before, "ops of client ", o->clients, o->client_n);
	ids_print(p, &before, "pid ", o->pids, o->pid_n);
	ids_print(p, &before, "tid ", o->tids, o->tid_n);
	words_print(p, &before, "threads named ", &o->comm, o->comm != NULL);
	if (*before == ';')
		fputc('\n', p->f);
}

/* Where no table left them out there is nothing to tell. */
static bool idle_is_told(const struct report *r)
{
	uint64_t count = 0;

	for (size_t i = 0; i < r->kinds.n; i++)
		count += r->kinds.entries[i].idle_count;
	return !r->o->everything && count &&
	       (r->sections & (SECTION_BIT(SECTION_RESOURCES) | SECTION_BIT(SECTION_OPEN) |
			       SECTION_BIT(SECTION_WAKERS) | SECTION_BIT(SECTION_STACKS) | SECTION_BIT(SECTION_OPS)));
}

/* Idle time of all reasons of a kind, at the first of them; 0 at the others. */
static uint64_t idle_of_kind(const struct report *r, size_t at)
{
	const struct analyze_entry *e = r->kinds.entries;
	uint64_t ns = 0;

	for (size_t i = 0; i < r->kinds.n; i++) {
		if (!e[i].idle_count || e[i].kind_id != e[at].kind_id || (!e[i].kind_id && e[i].reason != e[at].reason))
			continue;
		if (i < at)
			return 0;
		ns += e[i].idle_ns;
	}
	return ns;
}

static void idle_words_print(const struct page *p, const void *arg)
{
	const struct report *r = p->r;
	uint64_t ns = 0, count = 0;
	size_t n = 0;

	(void)arg;
	for (size_t i = 0; i < r->kinds.n; i++) {
		ns += r->kinds.entries[i].idle_ns;
		count += r->kinds.entries[i].idle_count;
	}
	fprintf(p->f, "%s idle by design: %s %s in %s (", r->idle_listed ? "* marks what is" : "Hidden as",
		page_seconds(ns).text, r->m->goroutine_n ? "s of threads and goroutines" : "thread-s",
		wording_counted(count, "wait", NULL).text);
	for (size_t i = 0; i < r->kinds.n; i++) {
		const struct analyze_entry *e = &r->kinds.entries[i];
		const char *kind = strtab_str(r->m->strings, e->kind_id);
		uint64_t kind_ns = idle_of_kind(r, i);

		if (!kind_ns)
			continue;
		if (n++ == KINDS_MAX)
			break;
		fputs(n > 1 ? ", " : "", p->f);
		report_name_print(p->f, *kind ? kind : wait_reason_name(e->reason), 16);
		fprintf(p->f, " %s", page_time(kind_ns).text);
	}
	fprintf(p->f, "%s)%s", n > KINDS_MAX ? ", .." : "", r->idle_listed ? "" : "   --all lists them");
}

void report_idle_print(const struct page *p)
{
	if (!idle_is_told(p->r))
		return;
	fputc('\n', p->f);
	page_wrapped(p, 0, idle_words_print, NULL);
}

/* Of all files in a folder; 0: not known. */
static uint64_t folder_bytes(const char *path)
{
	DIR *dir = opendir(path);
	uint64_t sum = 0;

	for (struct dirent *e; dir && (e = readdir(dir));) {
		struct stat st;

		if (fstatat(dirfd(dir), e->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	}
	if (dir)
		closedir(dir);
	return sum;
}

static void cost_print(const struct page *p)
{
	const struct report *r = p->r;
	uint64_t bytes = r->folder ? folder_bytes(r->folder) : 0;

	if (r->facts.tracer_cpu_ns)
		fprintf(p->f, "Tracing cost: %s CPU.   ", page_time(r->facts.tracer_cpu_ns).text);
	if (r->folder) {
		fputs("Files: ", p->f);
		report_path_print(p->f, r->folder, 40);
		if (bytes >= 100000)
			fprintf(p->f, " (%.1f MB)", (double)bytes / 1e6);
	}
	if (r->facts.tracer_cpu_ns || r->folder)
		fputc('\n', p->f);
}

/* Whose class is most of the critical path. SIZE_MAX: none has a name. */
static size_t path_class(const struct report *r)
{
	size_t n = r->stretch_n ? replay_class_n(r->replay) : 0, most = SIZE_MAX;
	_cleanup_(freep) int64_t *ns = calloc(n + 1, sizeof(*ns));

	for (size_t i = 0; ns && i < r->stretch_n; i++) {
		const struct replay_stretch *s = &r->stretches[i];

		if (s->class >= n || !replay_class(r->replay, s->class)->name_id)
			continue;
		ns[s->class] += s->end_ns - s->start_ns;
		most = most == SIZE_MAX || ns[s->class] > ns[most] ? s->class : most;
	}
	return most;
}

/* What this recording is most about, in words that explain understands. */
static void explain_print(const struct page *p)
{
	enum { EXPLAIN_COLUMNS_MAX = 60 };
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:+";
	const struct report *r = p->r;
	size_t class = r->made & SECTION_BIT(SECTION_PATH) ? path_class(r) : SIZE_MAX;
	const struct replay_class *c = class != SIZE_MAX ? replay_class(r->replay, class) : NULL;
	const char *name = c ? page_string(p, c->name_id) : "";

	if (r->sections & SECTION_BIT(SECTION_TAIL) && report_tail_is_of_requests(r)) {
		fprintf(p->f, " | wcbpf explain %" PRIu64, r->m->ops[r->tail.slow_ops[0]].id);
	} else if (*name && strlen(name) <= EXPLAIN_COLUMNS_MAX && name[strspn(name, safe)] == '\0') {
		fprintf(p->f, " | wcbpf explain %s", name);
	} else {
		fputs(" | wcbpf timeline", p->f);
	}
}

/* The three that say most about this recording. */
void report_foot_print(const struct page *p)
{
	const struct report *r = p->r;
	bool path = r->sections & SECTION_BIT(SECTION_PATH);

	if (!idle_is_told(r))
		fputc('\n', p->f);
	cost_print(p);
	if (r->profile)
		fputs("Next: wcbpf report --section own | wcbpf report --below malloc\n", p->f);
	else
		fprintf(p->f, "Next: wcbpf report --section %s | wcbpf report --section %s",
			path ? "path" : "matrix", path ? "whatif" : r->m->sample_n > 1 ? "nearest" : "classes");
	if (!r->profile) {
		explain_print(p);
		fputc('\n', p->f);
	}
}
