/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What changed between two recordings, and whether it is more than chance.
 * With several recordings a side ("a1,a2,a3") chance is measured: by how they
 * differ among themselves. With one it is estimated from what varies inside,
 * where there is enough of it; a number that is one interval has no estimate
 * and says so. A difference counts beyond twice its standard error.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/answer-json.h"
#include "cmd/cmd.h"
#include "cmd/measures.h"
#include "cmd/report-sections.h"
#include "cmd/verb.h"
#include "util/cleanup.h"
#include "util/json.h"
#include "util/log.h"
#include "util/vec.h"

enum { COLUMNS = 100, LINES_DEFAULT = 8 };

/* The recordings of one side. */
struct side {
	char *names; /* copy of the operand, cut at the commas */
	struct measures *runs;
	size_t run_n, run_cap;
	char *title;
	double whole_ns; /* mean length */
	int64_t epoch_unix_ns; /* of the last */
	bool complete;
	char *damage; /* lines about files that were not read in full; NULL: all were */
};

struct difference {
	const char *key;
	double a, b;
	double noise; /* what chance makes of b - a in 95 of 100 cases; negative: not known */
	uint8_t unit, sort;
	bool detail;
};

struct diff {
	struct report_options o;
	struct side a, b;
	struct difference *list; /* by sort, greatest first */
	size_t n, cap;
};

static void side_done(struct side *s)
{
	for (size_t i = 0; i < s->run_n; i++)
		measures_done(&s->runs[i]);
	free(s->runs);
	free(s->names);
	free(s->title);
	free(s->damage);
}

static void diff_done(struct diff *d)
{
	report_options_done(&d->o);
	side_done(&d->a);
	side_done(&d->b);
	free(d->list);
}

/* A line about a file that is damaged, behind those of others. */
static int damage_add(struct side *s, const struct report *r)
{
	_cleanup_(freep) char *before = TAKE_PTR(s->damage);
	struct page p;
	size_t n;
	FILE *f;

	if (!report_is_damaged(r)) {
		s->damage = TAKE_PTR(before);
		return 0;
	}
	f = open_memstream(&s->damage, &n);
	if (!f)
		return -ENOMEM;
	page_init(&p, r, f, COLUMNS, false);
	fputs(before ? before : "", f);
	report_damage_print(&p);
	return fclose(f) == 0 ? 0 : -ENOMEM;
}

/* One recording's measures. 0, -errno with *ret_why. */
static int run_add(struct diff *d, struct side *s, const char *input, char **ret_why)
{
	_cleanup_(report_done) struct report r = { 0 };
	struct report_options o = d->o;
	struct measures m;
	int e;

	o.inputs = &input;
	o.input_n = 1;
	o.sections = SECTION_BIT(SECTION_WALL);
	o.json = false;
	e = report_load(&r, &o, ret_why);
	if (e == 0)
		e = report_tables_make(&r);
	if (e == 0)
		e = measures_make(&r, &m);
	if (e < 0)
		return e;
	if (VEC_RESERVE(s->runs, s->run_cap, s->run_n + 1) < 0) {
		measures_done(&m);
		return -ENOMEM;
	}
	s->runs[s->run_n++] = m;
	s->epoch_unix_ns = r.m->epoch_unix_ns;
	s->whole_ns += (double)r.m->end_ns;
	s->complete &= report_is_complete(&r);
	if (damage_add(s, &r) < 0)
		return -ENOMEM;
	if (!s->title)
		s->title = strdup(r.facts.command ? r.facts.command : r.facts.target ? r.facts.target : r.path);
	return s->title ? 0 : -ENOMEM;
}

static int side_load(struct diff *d, struct side *s, const char *operand, char **ret_why)
{
	char *at;
	int e = 0;

	s->complete = true;
	s->names = strdup(operand);
	if (!s->names)
		return -ENOMEM;
	for (char *name = strtok_r(s->names, ",", &at); name && e == 0; name = strtok_r(NULL, ",", &at))
		e = run_add(d, s, name, ret_why);
	if (e == 0 && !s->run_n)
		return options_refuse(ret_why, "'%s' names no recording", operand);
	if (e == 0)
		s->whole_ns /= (double)s->run_n;
	return e;
}

static const struct measure *exact_find(const struct measures *m, const char *key)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int e = strcmp(m->list[middle].key, key);

		if (e == 0)
			return &m->list[middle];
		if (e < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Mean over the runs; *ret_variance of that mean, negative if it is not known. What a run doesn't have is 0 there. */
static double side_mean(const struct side *s, const char *key, double *ret_variance)
{
	double sum = 0, squares = 0, sigma = -1, n = (double)s->run_n;

	for (size_t i = 0; i < s->run_n; i++) {
		const struct measure *x = exact_find(&s->runs[i], key);

		sum += x ? x->value : 0;
		squares += x ? x->value * x->value : 0;
		sigma = x ? x->sigma : 0;
	}
	if (s->run_n > 1)
		*ret_variance = (squares / n - sum / n * (sum / n)) / (n - 1);
	else
		*ret_variance = sigma < 0 ? -1 : sigma * sigma;
	/* What rounding made of equal numbers. */
	if (s->run_n > 1 && *ret_variance < 0)
		*ret_variance = 0;
	return sum / n;
}

/*
 * Beyond so many standard errors a difference is chance in 5% of cases: Student's t for the degrees of freedom that
 * Welch and Satterthwaite give two samples. What is estimated from within a recording has many of them.
 */
static double noise_factor(const struct diff *d, double a_variance, double b_variance)
{
	static const double t[] = { 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23,
				    2.20,  2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09 };
	const double v[] = { a_variance, b_variance };
	const size_t n[] = { d->a.run_n, d->b.run_n };
	double sum = a_variance + b_variance, parts = 0, freedom;

	for (int i = 0; i < 2; i++)
		parts += n[i] > 1 ? v[i] * v[i] / (double)(n[i] - 1) : 0;
	if (parts <= 0)
		return 2;
	freedom = floor(sum * sum / parts + 1e-6);
	if (freedom < 1)
		return t[0];
	return freedom <= (double)(sizeof(t) / sizeof(t[0])) ? t[(size_t)freedom - 1] : 2;
}

static int difference_add(struct diff *d, const struct measure *x)
{
	struct difference y = { .key = x->key, .unit = x->unit, .sort = x->sort, .detail = x->detail };
	double a_variance, b_variance;

	y.a = side_mean(&d->a, x->key, &a_variance);
	y.b = side_mean(&d->b, x->key, &b_variance);
	y.noise = a_variance < 0 || b_variance < 0 ? -1 : noise_factor(d, a_variance, b_variance) * sqrt(a_variance + b_variance);
	if (VEC_RESERVE(d->list, d->cap, d->n + 1) < 0)
		return -ENOMEM;
	d->list[d->n++] = y;
	return 0;
}

static bool met_before(const struct diff *d, size_t side, size_t run, const char *key)
{
	for (size_t s = 0; s <= side; s++) {
		const struct side *x = s ? &d->b : &d->a;

		for (size_t i = 0; i < (s == side ? run : x->run_n); i++) {
			if (exact_find(&x->runs[i], key))
				return true;
		}
	}
	return false;
}

static int difference_compare(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;
	double x_d = fabs(x->b - x->a), y_d = fabs(y->b - y->a);

	if (x->sort != y->sort)
		return x->sort < y->sort ? -1 : 1;
	if (x_d > y_d || x_d < y_d)
		return x_d > y_d ? -1 : 1;
	return strcmp(x->key, y->key);
}

static int differences_make(struct diff *d)
{
	for (size_t s = 0; s < 2; s++) {
		const struct side *x = s ? &d->b : &d->a;

		for (size_t i = 0; i < x->run_n; i++) {
			for (size_t k = 0; k < x->runs[i].n; k++) {
				const struct measure *m = &x->runs[i].list[k];

				if (!met_before(d, s, i, m->key) && difference_add(d, m) < 0)
					return -ENOMEM;
			}
		}
	}
	if (d->n)
		qsort(d->list, d->n, sizeof(*d->list), difference_compare);
	return 0;
}

/* More than chance: 1; within it: 0; not known: -1. */
static int beyond_noise(const struct difference *x)
{
	return x->noise < 0 ? -1 : fabs(x->b - x->a) > x->noise;
}

static struct wording amount(const struct difference *x, double value, bool sign)
{
	struct wording w;

	if (x->unit == MEASURE_NS)
		snprintf(w.text, sizeof(w.text), "%s%.40s", sign && value > 0 ? "+" : "",
			 page_signed_time((int64_t)value).text);
	else
		snprintf(w.text, sizeof(w.text), sign ? "%+.0f" : "%.0f", value);
	return w;
}

static void difference_print(const struct page *p, const struct difference *x)
{
	double d = x->b - x->a;
	int beyond = beyond_noise(x);
	char noise[72] = "?", percent[24] = "new";

	if (x->noise >= 0)
		snprintf(noise, sizeof(noise), "%s", amount(x, x->noise, false).text);
	if (x->a > 0)
		snprintf(percent, sizeof(percent), "%+.1f%%", 100 * d / x->a);
	fprintf(p->f, "%10s %10s %11s %8s %10s %s%s%s ", amount(x, x->a, false).text, amount(x, x->b, false).text,
		amount(x, d, true).text, x->a > 0 || x->b > 0 ? percent : "", noise,
		beyond == 1 ? d > 0 ? p->bad : p->good : "", beyond == 1 ? "*" : " ", beyond == 1 ? p->plain : "");
	report_name_print(p->f, x->key, COLUMNS - 58);
	fputc('\n', p->f);
}

static void group_print(const struct page *p, const struct diff *d, enum measure_sort sort, const char *title)
{
	size_t n = 0, shown = 0, max = d->o.top ? d->o.top : d->o.everything ? SIZE_MAX : LINES_DEFAULT;

	for (size_t i = 0; i < d->n; i++)
		n += d->list[i].sort == sort && (!d->list[i].detail || d->o.everything) &&
		     fabs(d->list[i].b - d->list[i].a) > 0;
	if (!n && sort != MEASURE_WHOLE)
		return;
	fprintf(p->f, "\n%s         A          B        diff        %%      noise   %s%s\n", p->bold, title, p->plain);
	for (size_t i = 0; i < d->n; i++) {
		const struct difference *x = &d->list[i];

		if (x->sort != sort || (x->detail && !d->o.everything))
			continue;
		/* The length is told also if it is the same. */
		if (!(fabs(x->b - x->a) > 0) && strcmp(x->key, "makespan") != 0)
			continue;
		if (shown++ < max)
			difference_print(p, x);
	}
	page_more(p, shown, shown < max ? shown : max, 56);
}

static void side_print(const struct page *p, const struct side *s, const char *word)
{
	fprintf(p->f, "%s%s%s  ", p->bold, word, p->plain);
	report_name_print(p->f, s->title, 60);
	fprintf(p->f, "  %s", page_time((uint64_t)s->whole_ns).text);
	if (s->run_n > 1)
		fprintf(p->f, ", mean of %zu recordings", s->run_n);
	fprintf(p->f, "%s\n", s->complete ? "" : "   capture PARTIAL");
	if (s->damage)
		fprintf(p->f, "%s%s%s", p->bad, s->damage, p->plain);
}

static void text_print(const struct diff *d, FILE *f)
{
	static const struct report nothing;
	struct page p;

	page_init(&p, &nothing, f, COLUMNS, options_color_for(&d->o.all, STDOUT_FILENO));
	side_print(&p, &d->a, "A");
	side_print(&p, &d->b, "B");
	if (d->a.run_n > 1 && d->b.run_n > 1)
		fputs("noise: what chance comes to in 95% of cases (Student's t), from the recordings; * is beyond it\n", f);
	else
		fputs("noise: estimated from what varies within a recording; ? not known. * is beyond it.\n"
		      "Several recordings a side (a1,a2,a3 b1,b2,b3) measure it.\n", f);
	group_print(&p, d, MEASURE_WHOLE, "Whole");
	group_print(&p, d, MEASURE_STATE, "Thread time by state");
	group_print(&p, d, MEASURE_PATH, "Critical path by class");
	group_print(&p, d, MEASURE_CLASS, "Ops by class");
	group_print(&p, d, MEASURE_WAIT, "Waits");
	group_print(&p, d, MEASURE_FUNCTION, "Functions, self, on the CPU");
}

static void side_json(struct json *j, const char *key, const struct side *s)
{
	json_key(j, key);
	json_begin_object(j);
	json_kv_string(j, "title", s->title);
	json_kv_uint(j, "recordings", s->run_n);
	json_kv_bool(j, "complete", s->complete);
	json_kv_bool(j, "damaged", s->damage != NULL);
	json_end_object(j);
}

static int json_print(const struct diff *d, FILE *f)
{
	static const char *const sorts[MEASURE_SORT_MAX] = { "whole", "state", "path", "class", "wait", "function" };
	_cleanup_(json_freep) struct json *j = NULL;

	if (answer_json_begin(f, "wcbpf_diff", &j) < 0)
		return -ENOMEM;
	side_json(j, "a", &d->a);
	side_json(j, "b", &d->b);
	json_key(j, "differences");
	json_begin_array(j);
	for (size_t i = 0; i < d->n; i++) {
		const struct difference *x = &d->list[i];

		json_begin_object(j);
		json_kv_string(j, "name", x->key);
		json_kv_string(j, "sort", sorts[x->sort]);
		json_kv_string(j, "unit", x->unit == MEASURE_NS ? "ns" : "count");
		json_kv_int(j, "a", (int64_t)llround(x->a));
		json_kv_int(j, "b", (int64_t)llround(x->b));
		json_kv_int(j, "difference", (int64_t)llround(x->b - x->a));
		json_kv_int_or_null(j, "noise", x->noise >= 0, (int64_t)llround(x->noise));
		json_key(j, "beyond_noise");
		if (x->noise < 0)
			json_null(j);
		else
			json_bool(j, beyond_noise(x) == 1);
		json_end_object(j);
	}
	json_end_array(j);
	return answer_json_end(j);
}

/* A growth counts if it is beyond the noise, or nothing is known of that. 1: holds; 0; -EINVAL. */
static int growth_judge(const struct diff *d, const struct condition *c, char **ret_why)
{
	const struct difference *x = NULL;
	double value;

	for (size_t i = 0; i < d->n && !x; i++)
		x = strcmp(d->list[i].key, c->key) == 0 ? &d->list[i] : NULL;
	if (!x)
		return options_refuse(ret_why, "--fail-if %s: there is no number of that name in either", c->text);
	if (d->a.damage || d->b.damage) {
		options_refuse(ret_why, "--fail-if %s: it can't be told, the file of %s is damaged", c->text,
			       d->a.damage ? "A" : "B");
		return 1;
	}
	if (c->percent && x->a <= 0)
		return options_refuse(ret_why, "--fail-if %s: it is 0 in A", c->text);
	if (!c->percent && c->unit != x->unit)
		return options_refuse(ret_why, "--fail-if %s: a time needs a unit, a number none", c->text);
	value = c->percent ? 100 * (x->b - x->a) / x->a : x->b - x->a;
	if (!condition_holds(c, value) || beyond_noise(x) == 0)
		return 0;
	options_refuse(ret_why, "--fail-if %s: %s to %s (%+.1f%%)", c->text, amount(x, x->a, false).text,
		       amount(x, x->b, false).text, x->a > 0 ? 100 * (x->b - x->a) / x->a : 0);
	return 1;
}

/* Those that speak of no growth are about B. */
static int conditions_check(const struct diff *d)
{
	_cleanup_(freep) char *why = NULL;
	const char *damage = d->b.damage ? "that of B is damaged" : NULL;
	int e = 0;

	for (size_t i = 0; i < d->o.conditions.n && e == 0; i++) {
		struct condition *c = &d->o.conditions.list[i];

		if (c->relative)
			e = growth_judge(d, c, &why);
		else
			e = conditions_judge(&(struct conditions){ .list = c, .n = 1 }, &d->b.runs[0], damage, &why);
	}
	if (e != 0)
		log_error("%s", why ? why : strerror(-e));
	return e < 0 ? EXIT_USAGE : e > 0 ? EXIT_FAILURE : 0;
}

static int diff_run(struct diff *d)
{
	_cleanup_(freep) char *why = NULL;
	int e = 0;

	if (d->o.input_n != 2)
		e = options_refuse(&why, "diff needs two recordings: wcbpf diff A B");
	if (e == 0)
		e = side_load(d, &d->a, d->o.inputs[0], &why);
	if (e == 0)
		e = side_load(d, &d->b, d->o.inputs[1], &why);
	if (e == 0 && d->a.run_n == 1 && d->b.run_n == 1 && d->a.epoch_unix_ns == d->b.epoch_unix_ns &&
	    d->a.whole_ns == d->b.whole_ns)
		log_warning("%s and %s are of one recording: no difference between them says anything", d->o.inputs[0],
			    d->o.inputs[1]);
	if (e == 0)
		e = differences_make(d);
	if (e < 0) {
		log_error("%s", why ? why : strerror(-e));
		return EXIT_USAGE;
	}
	if (d->o.json)
		e = json_print(d, stdout);
	else
		text_print(d, stdout);
	if (e == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		e = errno ? -errno : -EIO;
	if (e < 0 && e != -EPIPE) {
		log_error("the difference could not be written: %s", strerror(-e));
		return EXIT_FAILURE;
	}
	return conditions_check(d);
}

int cmd_diff(int argc, char **argv)
{
	_cleanup_(diff_done) struct diff d = { 0 };
	_cleanup_(freep) char *why = NULL;
	int status, e = report_options_parse(&d.o, options_diff_rows, argc, argv, &why);

	if (verb_settle("diff", e, why, &d.o.all, EXIT_USAGE, &status))
		return status;
	return diff_run(&d);
}
