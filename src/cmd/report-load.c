/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * From what the user named to a model. A folder without a dump may still say
 * why in its summary; that sentence is worth more than "no such file".
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/report-symbols.h"
#include "cmd/report.h"
#include "output/output.h"
#include "util/cleanup.h"
#include "util/log.h"
#include "util/text.h"

#define DEFAULT_FOLDER "wcbpf.out"
#define SUMMARY_FILE "offcpu.summary.json"
#define PARTIAL ".partial"

static int refuse(int error, char **ret_why, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int refuse(int error, char **ret_why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*ret_why = text_vformat(fmt, ap);
	va_end(ap);
	return error;
}

static int summary_read(const char *folder, struct dump_facts *facts)
{
	_cleanup_(freep) char *path = text_format("%s/%s", folder, SUMMARY_FILE);

	if (!path)
		return -ENOMEM;
	return dump_facts_from_summary(path, facts);
}

static int dump_is_missing(const char *folder, char **ret_why)
{
	_cleanup_(dump_facts_done) struct dump_facts facts = { 0 };
	enum output_state state = output_dir_state(folder);

	if (state == OUTPUT_STATE_RECORDING)
		return refuse(-ENOENT, ret_why,
			      "%s: it is being recorded into and has no dump yet: end the recording first", folder);
	if (summary_read(folder, &facts) == 0)
		return refuse(-ENOENT, ret_why, "%s: no dump in it: %s", folder,
			      facts.caveat_message ?: "of its files the summary is there, wcprof.ndjson is not");
	if (state == OUTPUT_STATE_OVER)
		return refuse(-ENOENT, ret_why,
			      "%s: no dump in it: its recorder was killed before it wrote one; record again "
			      "(--checkpoint 10s keeps one meanwhile)", folder);
	return refuse(-ENOENT, ret_why,
		      "%s: no wcprof.ndjson or wcprof.ndjson.gz in it; is it a folder of wcbpf record?", folder);
}

/* What it is, if not the dump of the end. */
static void dump_tell(const char *folder, const char *name)
{
	if (strcmp(name, OUTPUT_STOP_NAME) != 0)
		return;
	if (output_dir_state(folder) == OUTPUT_STATE_RECORDING)
		log_warning("%s is still being recorded into: what follows is its last checkpoint, %s", folder, name);
	else
		log_warning("%s has no dump, its recorder was killed: what follows is its last checkpoint, %s", folder, name);
}

/* The dump in a folder. */
static int dump_find(const char *folder, char **ret, char **ret_why)
{
	static const char *const names[] = { "wcprof.ndjson", "wcprof.ndjson.gz", OUTPUT_STOP_NAME, "wcprof.ndjson" PARTIAL,
					     "wcprof.ndjson.gz" PARTIAL };
	struct stat st;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_(freep) char *path = NULL;

		path = text_format("%s/%s", folder, names[i]);
		if (!path)
			return -ENOMEM;
		if (stat(path, &st) == 0) {
			dump_tell(folder, names[i]);
			*ret = TAKE_PTR(path);
			return 0;
		}
		if (errno != ENOENT)
			return refuse(-errno, ret_why, "%s: %m", path);
	}
	return dump_is_missing(folder, ret_why);
}

static int input_find(const char *input, char **ret, bool *ret_folder, char **ret_why)
{
	struct stat st;
	int e;

	if (input && !strcmp(input, "-")) {
		*ret = strdup(input);
		return *ret ? 0 : -ENOMEM;
	}
	if (stat(input ? input : DEFAULT_FOLDER, &st) < 0) {
		e = -errno;
		if (!input && e == -ENOENT)
			return refuse(e, ret_why,
				      "no ./" DEFAULT_FOLDER " here: name a folder or a dump, or record one first "
				      "(wcbpf record -- CMD)");
		return refuse(e, ret_why, "%s: %s%s", input ? input : DEFAULT_FOLDER, strerror(-e),
			      e == -ENOENT ? ": name a recording's folder or its dump" : "");
	}
	*ret_folder = S_ISDIR(st.st_mode);
	if (*ret_folder)
		return dump_find(input ? input : DEFAULT_FOLDER, ret, ret_why);
	*ret = strdup(input ? input : DEFAULT_FOLDER);
	return *ret ? 0 : -ENOMEM;
}

bool report_is_input(const char *operand)
{
	struct stat st;

	return stat(operand, &st) == 0 && stat(DEFAULT_FOLDER, &st) < 0;
}

static bool is_partial(const char *path)
{
	size_t n = strlen(path), m = strlen(PARTIAL);

	return n > m && strcmp(path + n - m, PARTIAL) == 0;
}

/* A beginning of a dump that ends before its waits has nothing for a page. */
static int partial_check(struct report *r, char **ret_why)
{
	r->partial = is_partial(r->path);
	if (r->partial && r->m->wait_n <= 1)
		return refuse(-ENODATA, ret_why, "%s: the disk was full before the first wait was written", r->path);
	return 0;
}

/* The dumps that the inputs name, one each. Array and strings are the caller's. */
static int inputs_find(struct report *r, char ***ret, size_t *ret_n, char **ret_why)
{
	const struct report_options *o = r->o;
	size_t n = o->input_n ? o->input_n : 1;
	char **paths = calloc(n + 1, sizeof(*paths));

	if (!paths)
		return -ENOMEM;
	*ret = paths;
	*ret_n = n;
	for (size_t i = 0; i < n; i++) {
		const char *input = o->input_n ? o->inputs[i] : NULL;
		bool folder = false;
		int e = input_find(input, &paths[i], &folder, ret_why);

		if (folder && !r->folder)
			r->folder = input ? input : DEFAULT_FOLDER;
		r->dumpless = e == -ENOENT && folder && n == 1;
		if (e < 0)
			return e;
	}
	return 0;
}

static void paths_free(char ***paths)
{
	for (char **at = *paths; at && *at; at++)
		free(*at);
	free(*paths);
}

static int files_read(struct report *r, const char *const *paths, size_t n)
{
	r->profile = n == 1 && dump_is_profile(paths[0]);
	if (r->profile)
		return dump_read_profile(paths[0], &r->m, &r->facts, &r->problem);
	return dump_read_merged(paths, n, &r->m, &r->facts, &r->problem);
}

/* A copy where one is needed; what it is read from. */
struct source {
	int fd;
	char path[32];
};

static int dumps_read(struct report *r, char *const *paths, size_t n)
{
	_cleanup_(freep) struct source *sources = calloc(n, sizeof(*sources));
	_cleanup_(freep) const char **from = calloc(n, sizeof(*from));
	size_t made = 0;
	int e = sources && from ? 0 : -ENOMEM;

	for (; made < n && e == 0; made++) {
		struct source *s = &sources[made];

		s->fd = -1;
		from[made] = paths[made];
		e = dump_spool(paths[made], &s->fd);
		if (s->fd >= 0) {
			snprintf(s->path, sizeof(s->path), "/proc/self/fd/%d", s->fd);
			from[made] = s->path;
		}
	}
	if (e == 0)
		e = files_read(r, from, n);
	for (size_t i = 0; i < made; i++)
		closep(&sources[i].fd);
	return e;
}

static int window_cut(struct report *r, char **ret_why)
{
	int64_t to_ns = r->o->to_ns < r->m->end_ns ? r->o->to_ns : r->m->end_ns;

	r->whole_ns = r->m->end_ns;
	if (!r->o->has_time)
		return 0;
	if (r->o->from_ns >= to_ns)
		return refuse(-EINVAL, ret_why, "--time: the recording is %.3f s long", (double)r->m->end_ns / 1e9);
	return analyze_window(r->m, r->o->from_ns, to_ns);
}

static void filter_set(struct report *r)
{
	const struct report_options *o = r->o;

	r->filter = (struct analyze_filter){
		.pids = o->pids, .pid_n = o->pid_n, .tids = o->tids, .tid_n = o->tid_n, .comm = o->comm,
		.classes = o->classes, .class_n = o->class_n, .clients = o->clients, .client_n = o->client_n,
	};
}

int report_load(struct report *r, const struct report_options *o, char **ret_why)
{
	_cleanup_(paths_free) char **paths = NULL;
	size_t n = 0;
	int e;

	r->o = o;
	e = inputs_find(r, &paths, &n, ret_why);
	if (e < 0)
		return e;
	r->path = strdup(paths[0]);
	if (!r->path)
		return -ENOMEM;
	e = dumps_read(r, paths, n);
	/* Of the beginning that a full disk has left not even that may be there. */
	r->dumpless = r->folder && n == 1 && is_partial(r->path) && (e == -EINVAL || (e == 0 && r->m->wait_n <= 1));
	if (e == -EINVAL)
		return refuse(e, ret_why, "%s: %s", r->path, r->problem.message);
	if (e < 0)
		return refuse(e, ret_why, "%s: %s", r->path, strerror(-e));
	e = partial_check(r, ret_why);
	if (e < 0)
		return e;
	/* The dump has no command and exit status; the summary may be gone, or of another mode: that is fine. */
	if (r->folder && summary_read(r->folder, &r->facts) == -ENOMEM)
		return -ENOMEM;
	/* samply leaves names to whoever reads. */
	if (o->symbols_n || o->debuginfod || r->profile)
		e = report_symbols_load(r->m, o->symbols, o->symbols_n, o->debuginfod);
	filter_set(r);
	return e < 0 ? e : window_cut(r, ret_why);
}

void report_done(struct report *r)
{
	free(r->path);
	model_free(r->m);
	dump_facts_done(&r->facts);
	analyze_picked_done(&r->picked);
	analyze_table_done(&r->kinds);
	for (size_t i = 0; i < ANALYZE_BY_MAX; i++)
		analyze_table_done(&r->counted[i].table);
	analyze_table_done(&r->resources);
	analyze_table_done(&r->wakers);
	analyze_table_done(&r->callers);
	analyze_table_done(&r->stacks);
	analyze_table_done(&r->ops);
	analyze_table_done(&r->idle_resources);
	analyze_table_done(&r->idle_wakers);
	analyze_table_done(&r->idle_callers);
	analyze_table_done(&r->idle_ops);
	free(r->open);
	free(r->stuck);
	free(r->threads);
	free(r->functions);
	free(r->classes);
	free(r->dead);
	free(r->children);
	free(r->clients);
	analyze_endings_done(&r->user_endings);
	analyze_endings_done(&r->kernel_endings);
	analyze_actors_done(&r->actors);
	analyze_queues_done(&r->queues);
	analyze_tail_done(&r->tail);
	replay_free(r->replay);
	free(r->stretches);
	free(r->savings);
	free(r->hints);
	free(r->slow);
	replay_locks_free(r->locks, r->lock_n);
	free(r->lock_waits);
	free(r->lock_waits_before);
	free(r->edges);
	analyze_knots_done(&r->knots);
	free(r->runqueues);
	free(r->queued);
	free(r->chains);
	for (size_t i = 0; i < sizeof(r->frames) / sizeof(r->frames[0]); i++)
		analyze_frames_done(&r->frames[i]);
}
