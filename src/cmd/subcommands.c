/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The table. A new command is a row here, a file of its own and a line in meson.build. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "util/log.h"

#define CAPTURE_ABOUT                                                                                               \
	"TIME takes a unit (30s, 250ms, 10us, 2m, 1h); a bare number is seconds.\n"                                 \
	"The files: wcprof.ndjson, wall.folded.txt (by --mode offcpu.time.txt or offcpu.stacks.txt),\n"             \
	"offcpu.diagnostics.txt, offcpu.summary.json, in the folder DIR. 'wcbpf report DIR' shows them.\n"

const struct subcommand cmd_subcommands[] = {
	{"record", "[--] CMD [ARG...]", "run a command and record where it waits",
	 CAPTURE_ABOUT "Exit status: the command's, 128+n for signal n, 126 or 127 when it can't start, 125 when\n"
		       "wcbpf itself failed.\n",
	 options_capture_rows, NULL, cmd_record},
	{"attach", "-p PID,... | -t TID,... | -G CGROUP | -a  [-- CMD [ARG...]]",
	 "record what runs already, until Ctrl-C, -d, the target's end or that of CMD",
	 CAPTURE_ABOUT "Exit status: 0 on Ctrl-C, -d or the target's end; 125 when wcbpf itself failed.\n",
	 options_capture_rows, NULL, cmd_attach},
	{"report", "[DIR|DUMP...]", "show a recording on one page",
	 "Reads any wcprof dump, plain or gzip, several of one run, or a profile that samply saved; a folder\n"
	 "is one of wcbpf record or attach.\n"
	 "Exit status: 0; 1 when --fail-if holds; 2 when the options are wrong or the dump can't be read.\n",
	 options_report_rows, NULL, cmd_report},
	{"diff", "A[,A2...] B[,B2...]", "tell what differs between two recordings, and whether by chance",
	 "A and B are folders or dumps; several of one side, joined by commas, tell what chance does.\n"
	 "Exit status: 0; 1 when --fail-if holds; 2 when the options are wrong or a dump can't be read.\n",
	 options_diff_rows, NULL, cmd_diff},
	{"explain", "OP|[KIND:]CLASS [DIR|DUMP...]", "tell all about one op: its time, its waits, what lies below it",
	 "OP is an id of the dump; of a class the longest op is taken.\n"
	 "Exit status: 0; 2 when the options are wrong, the dump can't be read or has no such op.\n",
	 options_explain_rows, NULL, cmd_explain},
	{"whatif", "EXPR [DIR|DUMP...]", "tell how long it would take if something took less",
	 "EXPR: 'compress * 0.5', 'fn:parse cpu x 0.9', 'lock:NAME removed', 'op:exec:ld * 0', 'cpus = 4',\n"
	 "'no runqueue'; several joined by commas happen at once. A unique part of a name is enough.\n"
	 "Exit status: 0; 2 when the options or EXPR are wrong or the dump can't be read.\n",
	 options_whatif_rows, NULL, cmd_whatif},
	{"flamegraph", "[DIR|DUMP]", "draw where time went as a flame graph, an SVG picture",
	 "Without --view: all of the threads' lives where the CPU was sampled, else blocked time.\n"
	 "Any browser shows the file; it can be zoomed and searched, and needs no network.\n",
	 options_flamegraph_rows, NULL, cmd_flamegraph},
	{"timeline", "[DIR|DUMP]", "draw threads and ops over time, a page to zoom and search",
	 "One HTML file for any browser; it needs no network.\n", options_timeline_rows, NULL, cmd_timeline},
	{"export", "-f FORMAT [DIR|DUMP]", "write a recording for other programs: perfetto, firefox, pprof, ...",
	 "FORMAT    is                                              default file\n"
	 "perfetto  a trace for ui.perfetto.dev                     trace.pftrace\n"
	 "firefox   a profile for profiler.firefox.com              profile.json.gz\n"
	 "pprof     a profile for go tool pprof                     profile.pb.gz\n"
	 "folded    stacks for flamegraph.pl, speedscope            out.folded\n"
	 "otlp      OpenTelemetry spans, JSON                       trace.otlp.json\n",
	 options_export_rows, NULL, cmd_export},
	{"doctor", "", "tell what this host and this user allow, and what is lost by what is missing", NULL,
	 options_doctor_rows, NULL, cmd_doctor},
	{"probes", "", "show which functions would be probed in a program, and at what cost",
	 "Without -p it lists the profiles that come with wcbpf; with -p and no profile it tells which of them\n"
	 "find something there. Nothing is attached. A profile of your own: wcbpf-profile(5).\n",
	 options_probes_rows, NULL, cmd_probes},
	{"completion", "bash|zsh|fish", "print a completion script for a shell", NULL, options_plain_rows,
	 "bash|zsh|fish", cmd_completion},
	{"help", "[COMMAND]", "tell how to use wcbpf or one of its commands", NULL, NULL, "", cmd_help},
	{0},
};

const struct subcommand *cmd_subcommand_find(const char *name)
{
	for (const struct subcommand *c = cmd_subcommands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

/*
 * Who closes a standard stream would get the first file that is opened in its place: a report went into the dump's fd and
 * was well. What stands in for it can't be used the way round that the stream is, so a use is the error that it was.
 * Close-on-exec: the workload finds them closed as its starter left them.
 */
static int stdio_fill(void)
{
	static const int flags[] = { O_WRONLY, O_RDONLY, O_RDONLY };

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags[fd] | O_CLOEXEC) < 0)
			return -errno;
	}
	return 0;
}

int cmd_main(int argc, char **argv)
{
	const struct subcommand *c;

	if (stdio_fill() < 0)
		return EXIT_OWN_FAILURE;
	if (argc < 2) {
		help_print(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
		help_print(stdout);
		return 0;
	}
	if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0) {
		puts("wcbpf " WCBPF_VERSION);
		return 0;
	}
	c = cmd_subcommand_find(argv[1]);
	if (!c) {
		log_error("%s: no such command ('wcbpf help' lists them)", argv[1]);
		return EXIT_USAGE;
	}
	return c->run(argc - 1, argv + 1);
}
