/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* CAPTURE, the options of record and attach: one row each, its setter above. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/options.h"
#include "serve/serve.h"
#include "util/cleanup.h"
#include "util/parse.h"
#include "util/vec.h"

static int scope_claim(struct capture_config *c, enum capture_scope scope, char **ret_why)
{
	static const char *const names[] = {
		[CAPTURE_PIDS] = "-p", [CAPTURE_TIDS] = "-t", [CAPTURE_CGROUP] = "-G", [CAPTURE_ALL] = "-a"};

	if (c->has_scope && c->scope != scope)
		return options_refuse(ret_why, "%s and %s can't go together: say one target", names[c->scope],
				      names[scope]);
	c->has_scope = true;
	c->scope = scope;
	return 0;
}

/* -p and -t, also given several times. */
static int ids_add(struct capture_config *c, char name, const char *value, char **ret_why)
{
	_cleanup_(freep) uint32_t *ids = NULL;
	size_t n, cap = c->id_n;
	int r = parse_u32_list(value, &ids, &n);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return options_refuse(ret_why, "-%c %s: not a %s id (one number, or several with commas between)", name,
				      value, name == 'p' ? "process" : "thread");
	for (size_t i = 0; i < n; i++)
		if (ids[i] == 0 || ids[i] > INT32_MAX)
			return options_refuse(ret_why, "-%c %s: %u is no %s id (1 is the least%s)", name, value,
					      ids[i], name == 'p' ? "process" : "thread",
					      ids[i] ? ", 2147483647 the most" : "");
	if (VEC_RESERVE(c->ids, cap, c->id_n + n) < 0)
		return -ENOMEM;
	memcpy(c->ids + c->id_n, ids, n * sizeof(*ids));
	c->id_n += n;
	return 0;
}

static int set_pids(void *config, const char *value, char **ret_why)
{
	int r = scope_claim(config, CAPTURE_PIDS, ret_why);

	return r < 0 ? r : ids_add(config, 'p', value, ret_why);
}

static int set_tids(void *config, const char *value, char **ret_why)
{
	int r = scope_claim(config, CAPTURE_TIDS, ret_why);

	return r < 0 ? r : ids_add(config, 't', value, ret_why);
}

static int set_cgroup(void *config, const char *value, char **ret_why)
{
	struct capture_config *c = config;
	int r = scope_claim(c, CAPTURE_CGROUP, ret_why);

	if (r < 0)
		return r;
	if (c->cgroup)
		return options_refuse(ret_why, "-G %s: one cgroup at a time", value);
	if (!*value)
		return options_refuse(ret_why, "-G: the path is empty");
	c->cgroup = value;
	return 0;
}

static int set_system_wide(void *config, const char *value, char **ret_why)
{
	(void)value;
	return scope_claim(config, CAPTURE_ALL, ret_why);
}

static int set_out(void *config, const char *value, char **ret_why)
{
	if (!*value)
		return options_refuse(ret_why, "-o: the path is empty");
	((struct capture_config *)config)->out_path = value;
	((struct capture_config *)config)->out_named = true;
	return 0;
}

/* A time of an option; name is as the user knows it. */
static int duration_set(const char *name, const char *value, uint64_t *ret, char **ret_why)
{
	uint64_t ns;
	int r = parse_duration_ns(value, &ns);

	/* a year: what is longer is a slip, and sums of times stay far from overflow */
	if (r == -ERANGE || (r == 0 && ns > 366ull * 86400 * 1000000000))
		return options_refuse(ret_why, "%s %s: longer than a year", name, value);
	if (r < 0)
		return options_refuse(ret_why, "%s %s: not a time (30s, 250ms, 10us, 2m, 1h; a bare number is seconds)",
				      name, value);
	*ret = ns;
	return 0;
}

static int set_duration(void *config, const char *value, char **ret_why)
{
	uint64_t ns = 0;
	int r = duration_set("-d", value, &ns, ret_why);

	if (r < 0)
		return r;
	if (ns == 0)
		return options_refuse(ret_why, "-d %s: nothing would be recorded", value);
	((struct capture_config *)config)->duration_ns = ns;
	return 0;
}

static int set_delay(void *config, const char *value, char **ret_why)
{
	return duration_set("-D", value, &((struct capture_config *)config)->delay_ns, ret_why);
}

static int set_min(void *config, const char *value, char **ret_why)
{
	return duration_set("-m", value, &((struct capture_config *)config)->min_ns, ret_why);
}

static int set_mode(void *config, const char *value, char **ret_why)
{
	struct capture_config *c = config;

	if (strcmp(value, "time") == 0)
		c->mode = OUTPUT_TIME;
	else if (strcmp(value, "stacks") == 0)
		c->mode = OUTPUT_STACKS;
	else if (strcmp(value, "wall") == 0)
		c->mode = OUTPUT_WALL;
	else
		return options_refuse(ret_why, "--mode %s: there are time, stacks and wall", value);
	return 0;
}

static int set_freq(void *config, const char *value, char **ret_why)
{
	struct capture_config *c = config;
	uint32_t hz;

	if (parse_u32(value, &hz) < 0)
		return options_refuse(ret_why, "-F %s: not a number of samples a second", value);
	if (hz < 1 || hz > OPTIONS_SAMPLE_HZ_MAX)
		return options_refuse(ret_why, "-F %s: 1 a second is the least, %u the most", value, OPTIONS_SAMPLE_HZ_MAX);
	c->sample_hz = hz;
	c->has_sample_hz = true;
	return 0;
}

static int set_call_graph(void *config, const char *value, char **ret_why)
{
	static const struct {
		const char *word;
		enum wcbpf_ustack how;
		bool copies;
	} words[] = {
		{"auto", WCBPF_USTACK_TABLES, true},   {"fp", WCBPF_USTACK_FP, false},
		{"ehframe", WCBPF_USTACK_TABLES, false}, {"dwarf", WCBPF_USTACK_TABLES, false},
		{"copy", WCBPF_USTACK_COPY, true},     {"none", WCBPF_USTACK_NONE, false},
	};
	struct capture_config *c = config;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(value, words[i].word))
			continue;
		c->user_stacks = words[i].how;
		c->copies = words[i].copies;
		c->call_graph_dwarf = strcmp(value, "dwarf") == 0;
		return 0;
	}
	return options_refuse(ret_why, "--call-graph %s: there are auto, fp, ehframe, copy and none", value);
}

static int set_kernel_stacks(void *config, const char *value, char **ret_why)
{
	static const char *const words[] = {
		[CAPTURE_KSTACKS_AUTO] = "auto", [CAPTURE_KSTACKS_WALK] = "walk", [CAPTURE_KSTACKS_CHECK] = "check",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(value, words[i]))
			continue;
		((struct capture_config *)config)->kernel_stacks = i;
		return 0;
	}
	return options_refuse(ret_why, "--kernel-stacks %s: there are auto, walk and check", value);
}

static int set_waker_stacks(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct capture_config *)config)->waker_stacks = true;
	return 0;
}

static int set_no_inherit(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct capture_config *)config)->inherit = false;
	return 0;
}

static int set_user(void *config, const char *value, char **ret_why)
{
	if (!*value)
		return options_refuse(ret_why, "--user: the name is empty");
	((struct capture_config *)config)->user = value;
	return 0;
}

static int set_event_cap(void *config, const char *value, char **ret_why)
{
	uint64_t n;
	int r = parse_u64(value, &n);

	if (r == -EINVAL)
		return options_refuse(ret_why, "--event-cap %s: not a number", value);
	if (r < 0 || n < 1 || n > OPTIONS_EVENT_CAP_MAX)
		return options_refuse(ret_why, "--event-cap %s: 1 is the least, %u the most", value,
				      OPTIONS_EVENT_CAP_MAX);
	((struct capture_config *)config)->event_cap = (size_t)n;
	return 0;
}

static int set_listen(void *config, const char *value, char **ret_why)
{
	int r = serve_check(value, ret_why);

	if (r == 0)
		((struct capture_config *)config)->listen = value;
	return r;
}

static int set_start_off(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct capture_config *)config)->starts_off = true;
	return 0;
}

static int set_checkpoint(void *config, const char *value, char **ret_why)
{
	struct capture_config *c = config;

	c->has_checkpoint = true;
	return duration_set("--checkpoint", value, &c->checkpoint_ns, ret_why);
}

static int set_no_args(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct capture_config *)config)->keep_args = false;
	return 0;
}

static int set_no_symbols(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct capture_config *)config)->symbols = false;
	return 0;
}

static int set_gzip(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct capture_config *)config)->gzip = true;
	return 0;
}

static int set_strict(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct capture_config *)config)->strict = true;
	return 0;
}

/* The set that --probes and -e add to. */
static int probes_get(struct capture_config *c)
{
	return c->probes ? 0 : probe_set_new(&c->probes);
}

static int set_probes(void *config, const char *value, char **ret_why)
{
	_cleanup_(freep) char *why = NULL;
	struct capture_config *c = config;
	int r = probes_get(c);

	if (r == 0)
		r = probe_set_add(c->probes, value, &why);
	/* what is wrong in a profile can be more than one line */
	return r == 0 || r == -ENOMEM ? r : options_refuse(ret_why, "--probes: %s", why ? why : strerror(-r));
}

static int set_probe(void *config, const char *value, char **ret_why)
{
	struct capture_config *c = config;
	int r = probes_get(c);

	return r < 0 ? r : probe_set_add_inline(c->probes, value, ret_why);
}

static int set_max_overhead(void *config, const char *value, char **ret_why)
{
	struct capture_config *c = config;
	char *end;
	double percent = strtod(value, &end);

	/* above a CPU too: there may be many */
	if (end == value || strcmp(end, *end ? "%" : "") || !(percent >= 0) || percent > 100000)
		return options_refuse(ret_why, "--max-overhead %s: not a share of a CPU (5%%; 0: no limit)", value);
	c->overhead_max = percent / 100;
	return 0;
}

static int set_only(void *config, const char *value, char **ret_why)
{
	const char *colon = strchr(value, ':');
	char kind[32] = "";
	enum op_kind k;

	if (colon && (size_t)(colon - value) < sizeof(kind))
		memcpy(kind, value, (size_t)(colon - value));
	if (!colon || !colon[1] || (strcmp(kind, "*") != 0 && op_kind_parse(kind, &k) < 0))
		return options_refuse(ret_why, "--only %s: not kind:class or kind:class:NAME (kinds: call, call_exec, lazy, exec, "
				      "exec_phase, service_start, session_phase, io, internal, or *)", value);
	((struct capture_config *)config)->only = value;
	return 0;
}

static int set_dry_run(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct capture_config *)config)->dry_run = true;
	return 0;
}

const struct option_row options_capture_rows[] = {
	{'p', NULL, "PID,...", NULL, "record these processes, all threads, and their descendants", set_pids},
	{'t', NULL, "TID,...", NULL, "record these threads alone", set_tids},
	{'G', NULL, "CGROUP", NULL, "record a cgroup (v2): its path or its name below /sys/fs/cgroup", set_cgroup},
	{'a', NULL, NULL, NULL, "record the whole system", set_system_wide},
	{'o', NULL, "DIR", NULL, "folder for the files (default wcbpf.out; an older one becomes DIR.old)", set_out},
	{'d', "duration", "TIME", NULL, "stop after this time; the workload runs on", set_duration},
	{'D', "delay", "TIME", NULL, "begin after this time", set_delay},
	{'m', "min", "TIME", NULL, "don't record waits shorter than this (threads' totals keep them)", set_min},
	{0, "mode", "MODE", "wall|time|stacks", "wall (default): all time a stack; time: blocked time; stacks: counts",
	 set_mode},
	{'F', "freq", "HZ", NULL, "mode wall: samples a second of what runs on each CPU (default 99)", set_freq},
	{0, "call-graph", "HOW", "auto|fp|ehframe|copy|none",
	 "how user stacks are taken (default auto: .eh_frame)", set_call_graph},
	{0, "kernel-stacks", "HOW", "auto|walk|check",
	 "how kernel stacks are taken (default auto: recognized)", set_kernel_stacks},
	{0, "waker-stacks", NULL, NULL, "take the user stacks of those who end others' waits, too", set_waker_stacks},
	{0, "probes", "NAME|FILE", NULL, "a profile of choke points: its functions become ops", set_probes},
	{'e', NULL, "PROBE", NULL, "one more: '[FILE:]SYMBOL [KEY=VALUE...]'", set_probe},
	{0, "max-overhead", "PERCENT", NULL, "most of a CPU that probes may take (default 5%)", set_max_overhead},
	{0, "only", "OP", NULL, "record only work under ops KIND:CLASS[:NAME]", set_only},
	{0, "dry-run", NULL, NULL, "print what would be probed, record nothing", set_dry_run},
	{0, "no-inherit", NULL, NULL, "don't follow child processes", set_no_inherit},
	{0, "user", "NAME", NULL, "run CMD as this user", set_user},
	{0, "event-cap", "N", NULL, "most events kept for the dump (default 4194304)", set_event_cap},
	{0, "listen", "ADDR", NULL, "debug endpoint: unix:PATH, 127.0.0.1:PORT or [::1]:PORT", set_listen},
	{0, "start-off", NULL, NULL, "with --listen: don't record until it is switched on", set_start_off},
	{0, "checkpoint", "TIME", NULL, "rewrite stop.ndjson.gz so often (default with --listen: 30s; 0: never)", set_checkpoint},
	{0, "no-args", NULL, NULL, "don't store the arguments of programs", set_no_args},
	{0, "no-symbols", NULL, NULL, "don't look up names of functions", set_no_symbols},
	{0, "gzip", NULL, NULL, "write wcprof.ndjson.gz", set_gzip},
	{0, "strict", NULL, NULL, "exit with 125 if anything was lost", set_strict},
	OPTIONS_ALL_ROWS,
};

void capture_config_init(struct capture_config *c)
{
	*c = (struct capture_config){
		.out_path = "wcbpf.out",
		.mode = OUTPUT_WALL,
		.sample_hz = OPTIONS_SAMPLE_HZ_DEFAULT,
		.user_stacks = WCBPF_USTACK_TABLES,
		.copies = true,
		.inherit = true,
		.keep_args = true,
		.symbols = true,
		.overhead_max = OPTIONS_OVERHEAD_DEFAULT,
		.event_cap = OPTIONS_EVENT_CAP_DEFAULT,
	};
}

bool capture_config_is_live(const struct capture_config *c)
{
	return c->listen || c->checkpoint_ns;
}

void capture_config_done(struct capture_config *c)
{
	free(TAKE_PTR(c->ids));
	c->probes = probe_set_free(c->probes);
	c->id_n = 0;
}
