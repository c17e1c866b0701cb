/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Choke points as a recording has them: what probing.c finds is told to
 * assemble/, in its words, and to the user.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "assemble/assemble.h"
#include "capture/constants.h"
#include "capture/probing.h"
#include "capture/state.h"
#include "probe/probe.h"
#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/log.h"
#include "util/map.h"

#define WAIT_NS 20000000000ull /* a big program's symbols and code */
#define WARNINGS_MAX 10

/* ---- in assemble's words ---- */

_Static_assert((int)PROBE_OP == ASSEMBLE_ROLE_OP && (int)PROBE_BEGIN == ASSEMBLE_ROLE_BEGIN &&
		       (int)PROBE_END == ASSEMBLE_ROLE_END && (int)PROBE_WAIT == ASSEMBLE_ROLE_WAIT &&
		       (int)PROBE_LOCK == ASSEMBLE_ROLE_LOCK && (int)PROBE_KEY == ASSEMBLE_ROLE_KEY &&
		       (int)PROBE_SPAN == ASSEMBLE_ROLE_SPAN && (int)PROBE_SPAN_END == ASSEMBLE_ROLE_SPAN_END,
	       "the same roles");
_Static_assert((int)PROBE_ALWAYS == ASSEMBLE_ALWAYS && (int)PROBE_EQ == ASSEMBLE_EQ && (int)PROBE_NE == ASSEMBLE_NE &&
		       (int)PROBE_LT == ASSEMBLE_LT && (int)PROBE_GT == ASSEMBLE_GT && (int)PROBE_LE == ASSEMBLE_LE &&
		       (int)PROBE_GE == ASSEMBLE_GE,
	       "the same comparisons");
_Static_assert((int)PROBE_FORMAT_TYPE == ASSEMBLE_FORMAT_TYPED && (int)PROBE_FORMAT_HEX == ASSEMBLE_FORMAT_HEX &&
		       (int)PROBE_FORMAT_POINTER == ASSEMBLE_FORMAT_POINTER,
	       "the same formats");
_Static_assert((int)PROBE_WHEN_ALWAYS == ASSEMBLE_WHEN_ALWAYS && (int)PROBE_WHEN_NONE == ASSEMBLE_WHEN_NONE &&
		       (int)PROBE_WHEN_SOME == ASSEMBLE_WHEN_SOME,
	       "the same conditions");

#define TEXT_N 11
#define CHOICES_N 3

/* Room for one point's lists. */
struct lists {
	struct assemble_piece *pieces;
	struct assemble_choice *choices;
	size_t piece_n, choice_n;
};

static void lists_done(struct lists *l)
{
	free(l->pieces);
	free(l->choices);
}

static void text_copy(struct lists *l, const struct probe_text *from, struct assemble_text *to)
{
	to->pieces = l->pieces + l->piece_n;
	to->piece_n = from->n;
	for (size_t i = 0; i < from->n; i++)
		l->pieces[l->piece_n++] = (struct assemble_piece){ .literal = from->v[i].literal, .value = from->v[i].value,
								   .format = from->v[i].format, .when = from->v[i].when };
}

static void choices_copy(struct lists *l, const struct probe_choices *from, struct assemble_choices *to)
{
	to->choices = l->choices + l->choice_n;
	to->choice_n = from->n;
	for (size_t i = 0; i < from->n; i++)
		l->choices[l->choice_n++] = (struct assemble_choice){ .value = from->v[i].value, .cmp = from->v[i].cmp,
								      .word = from->v[i].word, .than = from->v[i].than };
}

static int on_point(void *arg, uint32_t number, const struct probe_point *p)
{
	_cleanup_(lists_done) struct lists l = { 0 };
	struct capture *c = arg;
	struct assemble_point to = { .name = p->name, .role = (enum assemble_role)p->role, .kind = p->kind, .work = p->work,
				     .wait_kind = p->wait_kind, .contended = p->contended, .hosts = p->hosts, .root = p->root,
				     .shared_exits = p->shared_exits, .entry_repeats = p->entry_repeats, .once = p->once,
				     .inherits_class = p->inherits_class, .inherits_client = p->inherits_client };
	const struct {
		const struct probe_text *from;
		struct assemble_text *to;
	} texts[TEXT_N] = {
		{ &p->class, &to.class }, { &p->ident, &to.ident },   { &p->client, &to.client },
		{ &p->meta, &to.meta },	  { &p->key, &to.key },	      { &p->target, &to.target },
		{ &p->resource, &to.resource }, { &p->trace, &to.trace }, { &p->span, &to.span },
		{ &p->under, &to.under }, { &p->nested, &to.nested },
	};
	const struct {
		const struct probe_choices *from;
		struct assemble_choices *to;
	} choices[CHOICES_N] = { { &p->outcome, &to.outcome }, { &p->reason, &to.reason }, { &p->only, &to.only } };
	size_t piece_n = 0, choice_n = 0;
	int err;

	if (!c->assemble)
		return 0; /* told again when there is one */
	for (size_t i = 0; i < TEXT_N; i++)
		piece_n += texts[i].from->n;
	for (size_t i = 0; i < CHOICES_N; i++)
		choice_n += choices[i].from->n;
	l.pieces = calloc(piece_n + 1, sizeof(*l.pieces));
	l.choices = calloc(choice_n + 1, sizeof(*l.choices));
	if (!l.pieces || !l.choices)
		return -ENOMEM;
	for (size_t i = 0; i < TEXT_N; i++)
		text_copy(&l, texts[i].from, texts[i].to);
	for (size_t i = 0; i < CHOICES_N; i++)
		choices_copy(&l, choices[i].from, choices[i].to);
	err = assemble_point_set(c->assemble, number, &to);
	if (err != -EINVAL)
		return err;
	log_warning("%s (%s): can't be assembled", p->name, p->place);
	return 0;
}

static int goroutine_push(void *arg, const struct wcbpf_head *e)
{
	struct capture *c = arg;

	return rings_push(c->rings, e);
}

static void on_go_off(void *arg, uint64_t now_ns)
{
	struct capture *c = arg;

	if (programs_goroutines_close(c->programs, 0, 0, now_ns, WCBPF_GO_OPEN_AT_END, goroutine_push, c))
		c->model->integrity.lost_go_events++;
	if (c->assemble)
		assemble_go_unfollow(c->assemble);
}

static bool is_among(char *const *lines, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (lines[i] && !strcmp(lines[i], text))
			return true;
	return false;
}

static void warn(struct capture *c, const char *text, const char *more)
{
	if (c->warning_n < WARNINGS_MAX)
		log_warning("%s%s", text, more);
	else if (c->warning_n == WARNINGS_MAX)
		log_warning("more such: see offcpu.diagnostics.txt");
	c->warning_n++;
}

static void on_tell(void *arg, enum probing_tone tone, const char *text)
{
	struct capture *c = arg;

	switch (tone) {
	case PROBING_NOTE:
		log_info("%s", text);
		if (c->note_n < CAPTURE_LINES_MAX)
			c->notes[c->note_n++] = strdup(text);
		return;
	case PROBING_AHEAD:
		warn(c, text, "; so far: what is started or loaded later is looked at, too");
		if (c->ahead_n < CAPTURE_LINES_MAX)
			c->ahead[c->ahead_n++] = strdup(text);
		return;
	case PROBING_CAVEAT:
		capture_line_add(c, text);
		if (c->caveat_n < CAPTURE_LINES_MAX)
			c->caveats[c->caveat_n++] = strdup(text);
		if (!is_among(c->ahead, c->ahead_n, text))
			warn(c, text, "");
		return;
	}
}

void choke_note(struct capture *c, const char *text)
{
	on_tell(c, PROBING_NOTE, text);
}

void choke_caveat(struct capture *c, const char *text)
{
	on_tell(c, PROBING_CAVEAT, text);
}

static int on_go(void *arg, uint32_t pid, const char *const *reasons, size_t n)
{
	struct capture *c = arg;

	return c->assemble ? assemble_go_set(c->assemble, pid, reasons, n) : 0;
}

static int event_ignore(void *arg, const struct wcbpf_head *e)
{
	(void)arg, (void)e;
	return 0;
}

static bool is_traced(void *arg, uint32_t pid)
{
	struct capture *c = arg;

	return c->options.scope == CAPTURE_ALL || map_get(c->known, pid, NULL) || programs_traces(c->programs, pid);
}

int choke_open(struct capture *c)
{
	struct site_fds fds;
	struct probing_options o = { .set = c->options.probes, .fds = &fds, .maps = c->maps,
				     .stacks = c->options.user_stacks != WCBPF_USTACK_NONE,
				     .waker_stacks = c->options.waker_stacks, .inherit = c->options.inherit,
				     .all = c->options.scope == CAPTURE_ALL, .overhead_max = c->options.overhead_max,
				     .wake_fd = c->wake_fd, .is_traced = is_traced, .point = on_point, .go = on_go, .list = before_list, .go_off = on_go_off,
				     .tell = on_tell, .arg = c };
	int err;

	if (!c->options.probes)
		return 0;
	o.how = programs_sites(c->programs, &fds);
	if (o.how == SITES_NONE) {
		on_tell(c, PROBING_CAVEAT, "nothing is probed: this kernel has no probes for it, or refused the program "
					   "('wcbpf doctor' and -vv say more); --probes and -e are without effect");
		return 0;
	}
	err = map_new(&c->go_functions);
	if (!err)
		err = constants_new(c->maps, &c->constants);
	if (!err)
		err = probing_new(&o, &c->probing);
	if (err)
		return err;
	rings_peek(c->rings, feed_peek, c);
	probing_calibrate(c->probing);
	/* the hits of that are nobody's */
	err = rings_read(c->rings);
	return err ? err : rings_hand_out(c->rings, true, event_ignore, c);
}

const char *const *capture_caveats(const struct capture *c)
{
	return (const char *const *)c->caveats;
}

const char *const *capture_notes(const struct capture *c)
{
	return (const char *const *)c->notes;
}

int capture_points(const struct capture *c, struct capture_point **ret, size_t *ret_n)
{
	const struct probing_point *all = NULL;
	struct capture_point *v;
	size_t n = 0;

	if (!c->options.probes)
		return -ENOENT;
	if (c->probing)
		all = probing_points(c->probing, &n);
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct capture_point){ .name = all[i].name, .path = all[i].path, .entry_n = all[i].entry_n,
					       .exit_n = all[i].exit_n, .other_n = all[i].other_n,
					       .stepped_n = all[i].stepped_n, .value_n = all[i].value_n,
					       .cost_ns = all[i].cost_ns,
					       .detached_ns = all[i].detached_ns ? (int64_t)(all[i].detached_ns - c->begin_ns) : -1 };
	*ret = v;
	*ret_n = n;
	return 0;
}

void capture_point_costs(const struct capture *c, uint64_t *ret_hit_ns, uint64_t *ret_stepped_ns, uint64_t *ret_value_ns)
{
	struct probing_costs costs = { 0 };

	if (c->probing)
		probing_costs(c->probing, &costs);
	*ret_hit_ns = costs.emulated_ns;
	*ret_stepped_ns = costs.stepped_ns;
	*ret_value_ns = costs.value_ns;
}

/* ---- what is about to be recorded ---- */

struct expecting {
	const struct capture_options *o;
	const struct proc_file **files; /* by the option's files; NULL: can't be had */
};

static int file_expect(void *arg, const struct proc_mapping *map)
{
	struct expecting *e = arg;

	for (size_t i = 0; map->file && i < e->o->file_n; i++)
		if (!strcmp(map->file->path, e->o->files[i]))
			e->files[i] = map->file;
	return 0;
}

/* A command: its program and its libraries are probed before it runs. */
static void command_expect(struct capture *c)
{
	const struct capture_options *o = &c->options;
	_cleanup_(freep) const struct proc_file **files = calloc(o->file_n + 1, sizeof(const struct proc_file *));
	struct expecting e = { o, files };

	if (!files)
		return;
	proc_maps_each(c->maps, (uint32_t)getpid(), UINT64_MAX - 1, file_expect, &e);
	for (size_t i = 0; i < o->file_n; i++)
		if (files[i])
			probing_expect(c->probing, o->ids[0], files[i], i == 0);
}

int choke_prepare(struct capture *c)
{
	const struct capture_options *o = &c->options;

	if (!c->probing)
		return 0;
	if (o->scope == CAPTURE_PIDS && o->hold_until_exec)
		command_expect(c);
	else if (o->scope == CAPTURE_PIDS)
		for (size_t i = 0; i < o->id_n; i++)
			probing_changed(c->probing, o->ids[i]);
	return probing_wait(c->probing, WAIT_NS);
}
