/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * That a function is missing can be said only when all files of a target have
 * been looked at; and of a profile that is meant for another program altogether
 * one line says more than one for each of its definitions.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "probe/set.h"
#include "util/text.h"
#include "util/vec.h"

struct notes {
	struct probe_note *v;
	size_t n, cap;
};

void probe_notes_free(struct probe_note *notes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((char *)notes[i].text);
	free(notes);
}

static void notes_done(struct notes *n)
{
	probe_notes_free(n->v, n->n);
}

static int note_add(struct notes *n, enum probe_severity severity, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int note_add(struct notes *n, enum probe_severity severity, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = text_vformat(fmt, ap);
	va_end(ap);
	if (!text)
		return -ENOMEM;
	if (VEC_RESERVE(n->v, n->cap, n->n + 1) < 0) {
		free(text);
		return -ENOMEM;
	}
	n->v[n->n++] = (struct probe_note){.severity = severity, .text = text};
	return 0;
}

/* What is best of it in all files. */
static enum probe_finding best(const struct probe_plan *const *plans, size_t n, size_t definition,
			       uint32_t *ret_inlined)
{
	enum probe_finding best = PROBE_NOT_MEANT;
	uint64_t inlined = 0;

	for (size_t i = 0; i < n; i++) {
		if (definition >= plans[i]->finding_n)
			continue;
		if (plans[i]->findings[definition] > best)
			best = (enum probe_finding)plans[i]->findings[definition];
		inlined += plans[i]->inlined[definition];
	}
	*ret_inlined = inlined > UINT32_MAX ? UINT32_MAX : (uint32_t)inlined;
	return best;
}

static char *files_text(const struct definition *d)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return NULL;
	for (size_t i = 0; i < d->files.n; i++)
		fprintf(f, "%s%s", i ? " | " : "", d->files.v[i].text);
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static char *what_text(const struct definition *d)
{
	const char *version = d->symbols[0].version;

	if (d->provider)
		return text_format("%s:%s", d->provider, d->marker);
	return text_format("%s%s%s%s", d->symbols[0].text, version ? "@" : "", version ? version : "",
			   d->symbol_n > 1 ? " (and its alternatives)" : "");
}

/* The profile's part of a definition's name; its length. */
static size_t profile_len(const struct definition *d)
{
	const char *slash = strchr(d->name, '/');

	return slash && strcmp(d->source_name, "-e") != 0 ? (size_t)(slash - d->name) : 0;
}

/*
 * Has nothing of its profile been found in any file? *ret_best: as much as came of the best of it; *ret_first: it is
 * the first one, which speaks for all; *ret_n: how many they are.
 */
static bool profile_is_absent(const struct probe_set *s, const struct probe_plan *const *plans, size_t n, size_t index,
			      enum probe_finding *ret_best, bool *ret_first, size_t *ret_n)
{
	const struct definition *d = &s->v[index];
	size_t len = profile_len(d);
	uint32_t inlined;

	*ret_first = true;
	*ret_best = PROBE_NOT_MEANT;
	*ret_n = 0;
	for (size_t i = 0; len && i < s->n; i++) {
		enum probe_finding found;

		if (profile_len(&s->v[i]) != len || strncmp(s->v[i].name, d->name, len) != 0)
			continue;
		found = best(plans, n, i, &inlined);
		if (found > PROBE_MISSING)
			return false;
		*ret_best = found > *ret_best ? found : *ret_best;
		*ret_first &= i >= index;
		++*ret_n;
	}
	return *ret_n > 1;
}

static int absent_note(const struct definition *d, enum probe_finding found, size_t n, struct notes *notes)
{
	_cleanup_(freep) char *files = files_text(d);
	const char *language = d->language == LANGUAGE_GO ? "Go " : "";

	if (!files)
		return -ENOMEM;
	if (found == PROBE_MISSING)
		return note_add(notes, PROBE_CAVEAT, "%s: none of its %zu choke points is in the target (file = %s)",
				d->source_name, n, files);
	return note_add(notes, PROBE_CAVEAT,
			"%s: the profile is not for this target: no %sfile of it is meant by 'file = %s'",
			d->source_name, language, files);
}

static int not_meant_note(const struct definition *d, enum probe_severity severity, struct notes *notes)
{
	_cleanup_(freep) char *files = files_text(d);

	if (!files)
		return -ENOMEM;
	if (d->guard_n)
		return note_add(notes, PROBE_NOTE, "%s: %s: not for this version of the program (with, without)",
				d->place, d->name);
	return note_add(notes, severity, "%s: %s: no %sfile of the target is meant by 'file = %s'", d->place, d->name,
			d->language == LANGUAGE_GO ? "Go " : "", files);
}

static int missing_note(const struct probe_set *s, const struct probe_plan *const *plans, size_t n, size_t index,
			struct notes *notes)
{
	const struct definition *d = &s->v[index];
	_cleanup_(freep) char *what = what_text(d);
	enum probe_severity severity = d->optional ? PROBE_NOTE : PROBE_CAVEAT;
	enum probe_finding most;
	uint32_t inlined;
	size_t profile_n;
	bool first;

	if (!what)
		return -ENOMEM;
	if (profile_is_absent(s, plans, n, index, &most, &first, &profile_n))
		return first ? absent_note(d, most, profile_n, notes) : 0;
	switch (best(plans, n, index, &inlined)) {
	case PROBE_NOT_MEANT:
		return not_meant_note(d, severity, notes);
	case PROBE_MISSING:
		return note_add(notes, severity, "%s: %s: %s", d->place, what,
				d->provider ? "no such marker (USDT) in the files that are meant"
					    : "no such function in the files that are meant");
	case PROBE_IMPORTED:
		return note_add(notes, severity,
				"%s: %s: only imported: the file that has it is none of those that are meant", d->place,
				what);
	case PROBE_ONLY_INLINED:
		return note_add(notes, severity,
				"%s: %s: exists only inlined into others, at %u place%s: it can't be probed", d->place,
				what, inlined, inlined == 1 ? "" : "s");
	case PROBE_REFUSED:
	case PROBE_FOUND:
		return 0;
	}
	return 0;
}

int probe_set_missing(const struct probe_set *s, const struct probe_plan *const *plans, size_t n,
		      struct probe_note **ret, size_t *ret_n)
{
	_cleanup_(notes_done) struct notes notes = {0};

	for (size_t i = 0; i < s->n; i++) {
		int r = missing_note(s, plans, n, i, &notes);

		if (r < 0)
			return r;
	}
	*ret = TAKE_PTR(notes.v);
	*ret_n = notes.n;
	notes.n = 0;
	return 0;
}

/*
 * Measured on Linux 6.18 under a hypervisor, where a trap costs most: what the
 * kernel emulates 0.6 to 1.3 us, what it single-steps 9 to 13 us; on bare metal
 * a single step costs about 2 us. A multi-byte nop is skipped from 6.18 on.
 */
struct probe_cost probe_site_cost(const struct probe_site *s)
{
	if (s->step == OBJFILE_STEP_EMULATED && !s->return_probe)
		return (struct probe_cost){.min_ns = 600, .max_ns = 1300};
	if (s->step == OBJFILE_STEP_NOP && !s->return_probe)
		return (struct probe_cost){.min_ns = 400, .max_ns = 13000};
	return (struct probe_cost){.min_ns = 2000, .max_ns = 13000};
}
