/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * One SVG file: shapes that any viewer draws, with names as their titles, and a
 * script of our own (flamegraph.js) for those that run it. Coordinates are of a
 * picture as wide as a page; the script moves shapes by the times it finds in
 * them (t, d: start and length in ns), so what is zoomed into is as exact as
 * the recording. What is narrower than can be seen is left out and told.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "export/assets.h"
#include "export/flame.h"
#include "export/formats.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/text.h"

enum { TITLE_CHARACTERS = 80 };
enum { WIDTH = 1200, MARGIN = 10, ROW = 17, HEAD = 56, FOOT = 44 };
#define CHARACTER_WIDTH 7.22 /* of a 12 px monospace font */
#define WIDTH_MIN 0.1	     /* of what is drawn */

struct picture {
	const struct export_job *job;
	const struct flame *f;
	struct export_told *told;
	json_sink sink;
	void *arg;
	struct text t;
	uint64_t all_ns;
	uint32_t rows;
};

static int flush(struct picture *p)
{
	int err = text_error(&p->t);

	if (!err && p->t.n)
		err = p->sink(p->arg, text_str(&p->t), p->t.n);
	text_clear(&p->t);
	return err;
}

/* What a thread did, where that is a word of a tower. */
static const char *state_color(const char *name)
{
	static const struct {
		const char *word, *color;
	} states[] = {
		{"[on-cpu]", "#7cc57f"},	    {"[self]", "#7cc57f"},	    {"[on-cpu, not sampled]", "#a9d8ab"}, {"[runnable]", "#ffc94d"},
		{"[blocked]", "#b7bfcb"},	    {"[shorter than --min]", "#d5d9e0"},  {"[lost]", "#e58f8f"},
		{"[not accounted]", "#e9e9e9"},
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(name, states[i].word) == 0)
			return states[i].color;
	return NULL;
}

/* Hue of its kind, shade of its name: the same function has the same colour in every picture. */
static void color_append(struct text *t, enum flame_kind kind, const char *name)
{
	static const struct {
		unsigned hue, saturation, light;
	} colors[FLAME_KIND_MAX] = {
		[FLAME_ALL] = {0, 0, 82},	[FLAME_THREAD] = {45, 45, 74}, [FLAME_OP] = {280, 38, 76},
		[FLAME_USER] = {205, 55, 68},	[FLAME_KERNEL] = {24, 75, 68}, [FLAME_WORD] = {0, 0, 78},
		[FLAME_BREAK] = {0, 0, 55},	[FLAME_WAKER] = {140, 38, 66},
		[FLAME_AWAITED] = {0, 40, 76},
	};
	const char *state = kind == FLAME_WORD ? state_color(name) : NULL;
	uint32_t hash = 2166136261u;

	if (state) {
		text_append(t, state);
		return;
	}
	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	hash ^= hash >> 15;
	text_appendf(t, "hsl(%u,%u%%,%u%%)", colors[kind].hue + (kind == FLAME_WORD ? 0 : hash % 21),
		     colors[kind].saturation, colors[kind].light + hash / 21 % 9);
}

/* "1.234 s": four digits at least, the unit that fits. */
static void time_append(struct text *t, uint64_t ns)
{
	if (ns >= 1000000000)
		text_appendf(t, "%.3f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		text_appendf(t, "%.3f ms", (double)ns / 1e6);
	else
		text_appendf(t, "%.3f us", (double)ns / 1e3);
}

/* As much of the name as fits, cut between characters. */
static void fitting_append(struct text *t, const char *name, double width)
{
	size_t room = width < 3 * CHARACTER_WIDTH ? 0 : (size_t)((width - 6) / CHARACTER_WIDTH), n = 0, bytes = 0, cut = 0;
	char piece[WIDTH];

	for (; name[bytes] && bytes < sizeof(piece) - 4; bytes++) {
		if ((name[bytes] & 0xc0) == 0x80)
			continue;
		if (n == room)
			break;
		if (n + 2 <= room)
			cut = bytes;
		n++;
	}
	if (!name[bytes]) {
		if (n <= room)
			escape_xml(t, name);
		return;
	}
	if (room < 3)
		return;
	memcpy(piece, name, cut);
	memcpy(piece + cut, "..", 3);
	escape_xml(t, piece);
}

static void frame_append(struct picture *p, uint32_t node, uint64_t start_ns)
{
	const struct flame_node *n = &p->f->nodes[node];
	double scale = (double)(WIDTH - 2 * MARGIN) / (double)p->all_ns;
	double x = MARGIN + (double)start_ns * scale, width = (double)n->total_ns * scale;
	unsigned y = HEAD + (p->rows - 1 - n->depth) * ROW;
	const char *name = flame_text(p->f, node);
	struct text *t = &p->t;

	text_appendf(t, "<g class=\"f k%u\" data-t=\"%" PRIu64 "\" data-d=\"%" PRIu64 "\"><title>",
		     flame_node_kind(p->f, node), start_ns, n->total_ns);
	escape_xml(t, name);
	text_append(t, " (");
	time_append(t, n->total_ns);
	text_appendf(t, ", %.2f%%)</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"",
		     100 * (double)n->total_ns / (double)p->all_ns, x, y, width, ROW - 1);
	color_append(t, flame_node_kind(p->f, node), name);
	text_appendf(t, "\"/><text x=\"%.2f\" y=\"%u\">", x + 3, y + 12);
	fitting_append(t, name, width);
	text_append(t, "</text></g>\n");
}

/* Where each node begins: siblings stand side by side from their parent's beginning on. */
static uint64_t *starts_make(const struct flame *f)
{
	uint64_t *starts = calloc(f->node_n, sizeof(*starts));

	for (uint32_t node = 0; starts;) {
		uint64_t at = starts[node];

		for (uint32_t c = f->nodes[node].child; c; c = f->nodes[c].next) {
			starts[c] = at;
			at += f->nodes[c].total_ns;
		}
		node = flame_next(f, node);
		if (!node)
			break;
	}
	return starts;
}

static bool drawn(const struct picture *p, uint32_t node)
{
	return (double)p->f->nodes[node].total_ns * (WIDTH - 2 * MARGIN) >= WIDTH_MIN * (double)p->all_ns;
}

/* Rows that anything is drawn in; and what isn't drawn, each tower counted where it begins. */
static void survey(struct picture *p)
{
	for (uint32_t node = 0; node < p->f->node_n; node++) {
		const struct flame_node *n = &p->f->nodes[node];

		if (drawn(p, node)) {
			p->rows = n->depth + 1 > p->rows ? n->depth + 1 : p->rows;
		} else {
			p->told->pruned_n++;
			p->told->pruned_ns += drawn(p, n->parent) ? n->total_ns : 0;
		}
	}
}

/* Of ops without threads there are no lives. */
static const char *about(const struct export_job *job)
{
	return job->view == EXPORT_WALL && flame_is_of_ops(job->m) ? "all ops' time, each op's own" :
								      export_view_about(job->view);
}

static void head_append(struct picture *p)
{
	struct text *t = &p->t;
	unsigned height = HEAD + p->rows * ROW + FOOT;

	text_appendf(t, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\" "
		     "font-family=\"monospace\" font-size=\"12px\" data-all=\"%" PRIu64 "\" data-margin=\"%d\" "
		     "data-character=\"%.2f\">\n<title>", WIDTH, height, WIDTH, height, p->all_ns, MARGIN, CHARACTER_WIDTH);
	escape_xml(t, p->job->name ? p->job->name : "wcbpf");
	text_appendf(t, ": %s</title>\n<style>%s</style>\n", about(p->job), asset_flamegraph_css);
	text_appendf(t, "<rect id=\"paper\" width=\"%d\" height=\"%u\" fill=\"#fff\"/>\n", WIDTH, height);
	text_appendf(t, "<text id=\"title\" x=\"%d\" y=\"22\">", WIDTH / 2);
	fitting_append(t, p->job->name ? p->job->name : "wcbpf", TITLE_CHARACTERS * CHARACTER_WIDTH);
	text_appendf(t, "</text>\n<text class=\"small\" text-anchor=\"middle\" x=\"%d\" y=\"40\">%s: ", WIDTH / 2,
		     about(p->job));
	time_append(t, p->all_ns);
	if (p->told->hidden_ns) {
		text_append(t, "; hidden: ");
		time_append(t, p->told->hidden_ns);
		text_append(t, " idle by design (--all shows it)");
	}
	text_append(t, "</text>\n<g id=\"controls\"/>\n<g id=\"frames\">\n");
}

/* What the colours mean, of the kinds that are there; from the right. */
static void legend_append(struct picture *p, unsigned y)
{
	static const struct {
		enum flame_kind kind;
		const char *words;
	} entries[] = {
		{FLAME_WAKER, "who ended it"}, {FLAME_AWAITED, "waited for"}, {FLAME_KERNEL, "kernel"},
		{FLAME_USER, "program"}, {FLAME_OP, "op"},
	};
	struct text *t = &p->t;
	double x = WIDTH - MARGIN;
	bool there[FLAME_KIND_MAX] = { false };

	for (uint32_t i = 0; i < p->f->node_n; i++)
		there[flame_node_kind(p->f, i)] = true;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (!there[entries[i].kind])
			continue;
		x -= (double)strlen(entries[i].words) * 6.7;
		text_appendf(t, "<text class=\"small\" x=\"%.0f\" y=\"%u\">%s</text>", x, y, entries[i].words);
		text_appendf(t, "<rect x=\"%.0f\" y=\"%u\" width=\"12\" height=\"10\" fill=\"", x - 16, y - 9);
		color_append(t, entries[i].kind, "");
		text_append(t, "\"/>\n");
		x -= 32;
	}
}

static void foot_append(struct picture *p)
{
	struct text *t = &p->t;
	unsigned y = HEAD + p->rows * ROW + 18;

	text_appendf(t, "</g>\n<text id=\"details\" x=\"%d\" y=\"%u\"></text>\n", MARGIN, y);
	text_appendf(t, "<text id=\"found\" text-anchor=\"end\" x=\"%d\" y=\"%u\"></text>\n", WIDTH - MARGIN, y);
	text_appendf(t, "<text class=\"small\" x=\"%d\" y=\"%u\">", MARGIN, y + 18);
	if (p->told->pruned_n) {
		text_appendf(t, "%" PRIu64 " frames narrower than %.1f px are not drawn; ", p->told->pruned_n, WIDTH_MIN);
		time_append(t, p->told->pruned_ns);
		text_appendf(t, " (%.2f%%) lie in them. ", 100 * (double)p->told->pruned_ns / (double)p->all_ns);
	}
	text_appendf(t, "wcbpf %s</text>\n", WCBPF_VERSION);
	legend_append(p, y + 18);
	text_appendf(t, "<script><![CDATA[\n%s]]></script>\n</svg>\n", asset_flamegraph_js);
}

static int draw(struct picture *p, const uint64_t *starts)
{
	uint32_t node = 0;
	int err = 0;

	survey(p);
	head_append(p);
	do {
		if (drawn(p, node))
			frame_append(p, node, starts[node]);
		if (p->t.n > 64 << 10)
			err = flush(p);
		node = flame_next(p->f, node);
	} while (node && !err);
	if (err)
		return err;
	foot_append(p);
	return flush(p);
}

int export_flamegraph_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told)
{
	_cleanup_(flame_done) struct flame f = { 0 };
	_cleanup_(freep) uint64_t *starts = NULL;
	struct picture p = { .job = job, .f = &f, .told = told, .sink = sink, .arg = arg };
	int err = flame_make(job, true, &f, told);

	if (err)
		return err;
	starts = starts_make(&f);
	if (!starts)
		return -ENOMEM;
	p.all_ns = f.nodes[0].total_ns;
	err = draw(&p, starts);
	text_done(&p.t);
	return err;
}
