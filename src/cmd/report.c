/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The subcommand: options, load, tables, then page or JSON. The page is made
 * in memory, so that the pager is only asked for what doesn't fit.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "cmd/cmd.h"
#include "cmd/measures.h"
#include "cmd/report.h"
#include "cmd/verb.h"
#include "util/cleanup.h"
#include "util/log.h"

enum { COLUMNS_DEFAULT = 100, SUMMARY_ROWS = 20 };

/* 0 if the pager took it, else it has to be printed here. */
static int page_through_pager(const char *text)
{
	const char *pager = getenv("PAGER");
	FILE *f;
	int status;

	if (pager && (!*pager || strcmp(pager, "cat") == 0))
		return -ENOENT;
	f = popen(pager ? pager : "less -FRX", "we");
	if (!f)
		return -errno;
	fputs(text, f);
	status = pclose(f);
	/* The shell's word for "no such program". */
	return status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) == 127) ? -ENOENT : 0;
}

static unsigned lines_of(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static int text_make(struct report *r, unsigned columns, char **ret)
{
	_cleanup_(freep) char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	int e;

	if (!f)
		return -ENOMEM;
	e = report_text_print(r, f, columns, options_color_for(&r->o->all, STDOUT_FILENO));
	if (fclose(f) != 0 || e < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(text);
	return 0;
}

static int text_show(struct report *r)
{
	bool terminal = isatty(STDOUT_FILENO);
	struct winsize size = { 0 };
	_cleanup_(freep) char *text = NULL;
	int e;

	if (!terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){ 0 };
	e = text_make(r, size.ws_col ? size.ws_col : COLUMNS_DEFAULT, &text);
	if (e < 0)
		return e;
	if (terminal && !r->o->no_pager && size.ws_row && lines_of(text) >= size.ws_row &&
	    page_through_pager(text) == 0)
		return 0;
	fputs(text, stdout);
	return 0;
}

/* --fail-if, for scripts: the exit code. */
static int conditions_check(struct report *r)
{
	_cleanup_(measures_done) struct measures m = { 0 };
	_cleanup_(freep) char *why = NULL;
	int e = measures_make(r, &m);

	if (e == 0)
		e = conditions_judge(&r->o->conditions, &m, report_damage(r), &why);
	if (e != 0)
		log_error("%s", why ? why : strerror(-e));
	return e < 0 ? EXIT_USAGE : e > 0 ? EXIT_FAILURE : 0;
}

/* A folder without a dump still has its summary. What is wrong with a dump, or with what was asked, is not covered up by it. */
static int summary_show(const struct report *r, const struct report_options *o)
{
	size_t n = o->top ? o->top : SUMMARY_ROWS;

	if (o->json || o->events || !r->dumpless)
		return EXIT_USAGE;
	return report_summary_print(r->folder, stdout, COLUMNS_DEFAULT, n) == 1 ? 0 : EXIT_USAGE;
}

static int report_run(struct report *r, const struct report_options *o)
{
	_cleanup_(freep) char *why = NULL;
	int e = report_load(r, o, &why);

	if (e < 0) {
		log_error("%s", why ? why : strerror(-e));
		return summary_show(r, o);
	}
	e = o->events ? report_events_print(r, stdout) : report_tables_make(r);
	if (e == 0 && !o->events)
		e = o->json ? report_json_print(r, stdout) : text_show(r);
	if (e == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		e = errno ? -errno : -EIO;
	if (e == 0 && o->conditions.n)
		return conditions_check(r);
	/* A reader that has seen enough (| head) is no failure. */
	if (e < 0 && e != -EPIPE) {
		log_error("the report could not be written: %s", strerror(-e));
		return EXIT_FAILURE;
	}
	return 0;
}

int cmd_report(int argc, char **argv)
{
	_cleanup_(report_options_done) struct report_options o = { 0 };
	_cleanup_(report_done) struct report r = { 0 };
	_cleanup_(freep) char *why = NULL;
	int status, e = report_options_parse(&o, options_report_rows, argc, argv, &why);

	if (verb_settle("report", e, why, &o.all, EXIT_USAGE, &status))
		return status;
	return report_run(&r, &o);
}
