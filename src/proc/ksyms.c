/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * kallsyms as one sorted array of 16 bytes a symbol and one block of names.
 *
 * kallsyms gives no sizes. A symbol reaches to the next one, but never over an
 * edge: _etext and its like end what comes before and name nothing, and the
 * last symbol of a module ends with its page, for what lies behind may belong
 * to somebody who has no symbols. Data symbols are left out, and so are the
 * __pfx_ ones: they name the padding before a function, where only the return
 * address of a call that ends the function before can point.
 */
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/vec.h"

#define PAGE 4096u
#define BPF_PROGRAM_MAX (1u << 20) /* longer ones would be a symbol we don't know */
#define READ_SIZE (256u << 10)
#define NAMES_MAX (512u << 20)
#define MODULES_MAX 0x3fffu

struct entry {
	uint64_t start;
	uint32_t name; /* offset in names */
	unsigned int module : 14;
	unsigned int local : 1;
	unsigned int edge : 1; /* ends the symbol before, has no extent itself */
	unsigned int bpf : 1;
};

struct ksyms {
	struct entry *v;
	size_t n, cap;
	char *names;
	size_t names_n, names_cap;
	uint32_t *modules; /* offsets in names; [0]: the kernel proper */
	size_t modules_n;
	struct ksyms_code code; /* 0: not seen */
	uint64_t text, end; /* the kernel proper lies in [text, end) */
	bool any_address;   /* some symbol has an address other than 0 */
};

struct line {
	uint64_t addr;
	char type;
	const char *name, *module;
	size_t name_n, module_n;
};

DEFINE_CLEANUP(struct ksyms *, ksyms_free)

static bool name_is(const struct line *l, const char *s)
{
	return strlen(s) == l->name_n && !memcmp(l->name, s, l->name_n);
}

static int names_add(struct ksyms *k, const char *s, size_t n, uint32_t *ret)
{
	if (k->names_cap - k->names_n < n + 1) {
		size_t want = k->names_cap ? k->names_cap * 2 : 1 << 20;
		char *p;

		while (want - k->names_n < n + 1)
			want *= 2;
		if (want > NAMES_MAX)
			return -EFBIG;
		p = realloc(k->names, want);
		if (!p)
			return -ENOMEM;
		k->names = p;
		k->names_cap = want;
	}
	memcpy(k->names + k->names_n, s, n);
	k->names[k->names_n + n] = '\0';
	*ret = (uint32_t)k->names_n;
	k->names_n += n + 1;
	return 0;
}

/* Modules come in runs, so the newest one is nearly always it. */
static int module_id(struct ksyms *k, const char *s, size_t n, unsigned int *ret)
{
	uint32_t *p;
	int err;

	for (size_t i = k->modules_n; i-- > 0;) {
		const char *have = k->names + k->modules[i];

		if (strlen(have) == n && !memcmp(have, s, n)) {
			*ret = (unsigned int)i;
			return 0;
		}
	}
	if (k->modules_n > MODULES_MAX)
		return -EFBIG;
	p = realloc(k->modules, (k->modules_n + 1) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	k->modules = p;
	err = names_add(k, s, n, &k->modules[k->modules_n]);
	if (err)
		return err;
	*ret = (unsigned int)k->modules_n++;
	return 0;
}

/* The linker's own names: of several at one address only one is kept as a symbol, so they are noted here. */
static void code_note(struct ksyms_code *code, const struct line *l)
{
	const struct {
		const char *name;
		uint64_t *at;
	} names[] = {
		{ "_text", &code->text[0] },
		{ "_etext", &code->text[1] },
		{ "__sched_text_start", &code->sched[0] },
		{ "__sched_text_end", &code->sched[1] },
		{ "__lock_text_start", &code->lock[0] },
		{ "__lock_text_end", &code->lock[1] },
	};

	if (*l->name != '_')
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (name_is(l, names[i].name))
			*names[i].at = l->addr;
}

static bool is_edge(const struct line *l)
{
	static const char *const edges[] = { "_etext", "_einittext", "_end", "__entry_text_end" };

	if (l->module_n)
		return false;
	for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++)
		if (name_is(l, edges[i]))
			return true;
	return false;
}

static int add_symbol(struct ksyms *k, const struct line *l)
{
	struct entry e = { .start = l->addr };
	unsigned int module;
	bool text = strchr("tTwWiI", l->type);
	int err;

	if (l->addr)
		k->any_address = true;
	if (!l->module_n)
		code_note(&k->code, l);
	if (!l->module_n && name_is(l, "_text"))
		k->text = l->addr;
	if (!l->module_n && name_is(l, "_end"))
		k->end = l->addr;
	e.edge = is_edge(l);
	if ((!text && !e.edge) || (l->name_n > 6 && !memcmp(l->name, "__pfx_", 6)))
		return 0;
	if (VEC_RESERVE(k->v, k->cap, k->n + 1) < 0)
		return -ENOMEM;
	err = module_id(k, l->module, l->module_n, &module);
	if (!err)
		err = names_add(k, l->name, l->name_n, &e.name);
	if (err)
		return err;
	e.module = module & MODULES_MAX;
	e.bpf = l->module_n == 3 && !memcmp(l->module, "bpf", 3);
	e.local = l->type == 't';
	k->v[k->n++] = e;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* "ffffffff81000000 T name" or, of a module, "... t name\t[module]". False: not of that shape. */
static bool parse_line(const char *p, const char *end, struct line *ret)
{
	struct line l = { .module = "" };
	const char *tab;
	int d;

	for (d = 0; p < end && (d = hex_digit(*p)) >= 0; p++)
		l.addr = l.addr << 4 | (unsigned int)d;
	if (end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return false;
	l.type = p[1];
	l.name = p + 3;
	tab = memchr(l.name, '\t', (size_t)(end - l.name));
	l.name_n = (size_t)((tab ? tab : end) - l.name);
	if (tab && end - tab > 3 && tab[1] == '[' && end[-1] == ']') {
		l.module = tab + 2;
		l.module_n = (size_t)(end - 1 - l.module);
	}
	if (!l.name_n || !l.type)
		return false;
	*ret = l;
	return true;
}

/* Takes the whole lines of buf; how many bytes those are in *ret. */
static int add_lines(struct ksyms *k, const char *buf, size_t n, size_t *ret)
{
	size_t at = 0;

	for (;;) {
		const char *nl = memchr(buf + at, '\n', n - at);
		struct line l;

		if (!nl)
			break;
		if (parse_line(buf + at, nl, &l)) {
			int err = add_symbol(k, &l);

			if (err)
				return err;
		}
		at = (size_t)(nl - buf) + 1;
	}
	*ret = at;
	return 0;
}

static int read_symbols(struct ksyms *k, const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(freep) char *buf = malloc(READ_SIZE);
	size_t have = 0, used;

	if (!buf)
		return -ENOMEM;
	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n = read(fd, buf + have, READ_SIZE - have);
		int err;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		have += (size_t)n;
		err = add_lines(k, buf, have, &used);
		if (err)
			return err;
		if (used == 0 && have == READ_SIZE)
			return -EBADMSG;
		memmove(buf, buf + used, have - used);
		have -= used;
	}
}

static size_t underscores(const char *s)
{
	return strspn(s, "_");
}

/* Edges before symbols (an edge that is also a start ends only what is before), then the name a reader expects. */
static int by_address(const void *pa, const void *pb, void *arg)
{
	const struct entry *a = pa, *b = pb;
	const char *names = arg, *an = names + a->name, *bn = names + b->name;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->edge != b->edge)
		return a->edge ? -1 : 1;
	if (a->local != b->local)
		return a->local ? 1 : -1;
	if (underscores(an) != underscores(bn))
		return underscores(an) < underscores(bn) ? -1 : 1;
	return strcmp(an, bn);
}

/* Sorts, drops what lies outside the kernel proper (per-CPU offsets), and all but one symbol of an address. */
static void tidy(struct ksyms *k)
{
	size_t n = 0;

	qsort_r(k->v, k->n, sizeof(*k->v), by_address, k->names);
	for (size_t i = 0; i < k->n; i++) {
		const struct entry *e = &k->v[i];

		if (!e->module && k->text < k->end && (e->start < k->text || e->start > k->end))
			continue;
		if (n && k->v[n - 1].start == e->start) {
			if (!k->v[n - 1].edge)
				continue;
			n--;
		}
		k->v[n++] = *e;
	}
	k->n = n;
}

int ksyms_new(const char *path, struct ksyms **ret)
{
	_cleanup_(ksyms_freep) struct ksyms *k = calloc(1, sizeof(*k));
	unsigned int kernel;
	struct entry *fit;
	char *names;
	int err;

	if (!k)
		return -ENOMEM;
	err = module_id(k, "", 0, &kernel);
	if (!err)
		err = read_symbols(k, path ? path : "/proc/kallsyms");
	if (err)
		return err;
	if (!k->any_address)
		return k->n ? -EPERM : -ENODATA;
	tidy(k);
	fit = realloc(k->v, (k->n ? k->n : 1) * sizeof(*fit));
	if (fit)
		k->v = fit;
	names = realloc(k->names, k->names_n);
	if (names)
		k->names = names;
	*ret = TAKE_PTR(k);
	return 0;
}

struct ksyms *ksyms_free(struct ksyms *k)
{
	if (!k)
		return NULL;
	free(k->v);
	free(k->names);
	free(k->modules);
	free(k);
	return NULL;
}

/* Where the symbol at i ends. */
static uint64_t entry_end(const struct ksyms *k, size_t i)
{
	const struct entry *e = &k->v[i];
	uint64_t next = i + 1 < k->n ? k->v[i + 1].start : UINT64_MAX;
	uint64_t own = UINT64_MAX;

	if (e->bpf)
		own = e->start + BPF_PROGRAM_MAX;
	else if (i + 1 == k->n || k->v[i + 1].module != e->module)
		own = (e->start | (PAGE - 1)) + 1;
	return own < next ? own : next;
}

int ksyms_lookup(const struct ksyms *k, uint64_t addr, struct ksym *ret)
{
	size_t lo = 0, hi = k->n;
	const struct entry *e;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return -ENOENT;
	e = &k->v[lo - 1];
	if (e->edge || addr >= entry_end(k, lo - 1))
		return -ENOENT;
	*ret = (struct ksym){
		.name = k->names + e->name,
		.module = k->names + k->modules[e->module],
		.start = e->start,
		.bpf = e->bpf,
	};
	return 0;
}

uint64_t ksyms_text(const struct ksyms *k)
{
	return k->text;
}

int ksyms_code(const struct ksyms *k, struct ksyms_code *ret)
{
	const struct ksyms_code *c = &k->code;

	if (!c->text[0] || c->text[0] >= c->text[1] || !c->sched[0] || c->sched[0] >= c->sched[1] || !c->lock[0] ||
	    c->lock[0] > c->lock[1])
		return -ENOENT;
	*ret = *c;
	return 0;
}

int ksyms_find(const struct ksyms *k, const char *name, uint64_t *ret)
{
	for (size_t i = 0; i < k->n; i++) {
		const struct entry *e = &k->v[i];

		if (!e->edge && !e->module && !strcmp(k->names + e->name, name)) {
			*ret = e->start;
			return 0;
		}
	}
	return -ENOENT;
}
