/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A PID has a list of images, newest first: address spaces one after another,
 * each from a fork or an exec to the next exec or the exit. So a reused PID
 * never sees the mappings of the process before, and the dead keep theirs.
 *
 * Records come from several rings and may arrive a little late. So each of
 * them is put where its time belongs, not at the end: an image is split at the
 * time of an exec, and what is known to have begun after it moves on.
 */
#include "proc/proc.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "proc/maps-file.h"
#include "proc/maps-image.h"
#include "proc/maps-line.h"
#include "proc/read.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/strtab.h"
#include "util/vec.h"

#define MAPS_TEXT_MAX (256u << 20)

struct process {
	struct image *newest;
	uint64_t changed_ns; /* of the latest record of a mapping */
};

struct proc_reading {
	uint32_t pid;
	struct image *now;
};

struct proc_maps {
	pthread_mutex_t lock; /* of all below: one thread writes, others look up */
	struct map *processes; /* by PID */
	uint64_t version;
	struct maps_files *files;
	struct strtab *names; /* of mappings without a file */
};

DEFINE_CLEANUP(struct proc_maps *, proc_maps_free)
DEFINE_CLEANUP(struct proc_reading *, proc_reading_free)

/* Held to the end of the caller's scope. */
#define SCOPE_LOCK(m) _cleanup_(unlockp) pthread_mutex_t *held_lock = lock((struct proc_maps *)(m))

static pthread_mutex_t *lock(struct proc_maps *m)
{
	pthread_mutex_lock(&m->lock);
	return &m->lock;
}

static void unlockp(pthread_mutex_t **held)
{
	pthread_mutex_unlock(*held);
}
DEFINE_CLEANUP(struct image *, image_free)

int proc_maps_new(struct proc_maps **ret)
{
	_cleanup_(proc_maps_freep) struct proc_maps *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	pthread_mutex_init(&m->lock, NULL);
	err = map_new(&m->processes);
	if (!err)
		err = strtab_new(&m->names);
	if (!err)
		err = maps_files_new(&m->files);
	if (err)
		return err;
	*ret = TAKE_PTR(m);
	return 0;
}

static void process_free(struct process *p)
{
	while (p->newest) {
		struct image *older = p->newest->older;

		image_free(p->newest);
		p->newest = older;
	}
	free(p);
}

struct proc_maps *proc_maps_free(struct proc_maps *m)
{
	uint64_t pid, p;

	if (!m)
		return NULL;
	for (size_t at = 0; m->processes && map_next(m->processes, &at, &pid, &p);)
		process_free((struct process *)(uintptr_t)p);
	map_free(m->processes);
	maps_files_free(m->files);
	strtab_free(m->names);
	pthread_mutex_destroy(&m->lock);
	free(m);
	return NULL;
}

/* ---- processes and their images ---- */

static int process_get(struct proc_maps *m, uint32_t pid, struct process **ret)
{
	_cleanup_(freep) struct process *fresh = NULL;
	struct process *p = map_get_ptr(m->processes, pid);
	int err;

	if (!p) {
		p = fresh = calloc(1, sizeof(*fresh));
		if (!fresh)
			return -ENOMEM;
		err = map_put_ptr(m->processes, pid, fresh);
		if (err)
			return err;
		TAKE_PTR(fresh);
	}
	*ret = p;
	return 0;
}

static struct image *image_at(const struct process *p, uint64_t time_ns)
{
	for (struct image *i = p->newest; i; i = i->older)
		if (i->from_ns <= time_ns)
			return time_ns < i->until_ns ? i : NULL;
	return NULL;
}

/* A new image from time_ns on, between its neighbours in time; the one that held then ends. */
static int image_begin(struct process *p, uint64_t time_ns, struct image **ret)
{
	_cleanup_(image_freep) struct image *fresh = NULL;
	struct image **at = &p->newest;
	uint64_t until_ns = UINT64_MAX;
	int err;

	for (; *at && (*at)->from_ns > time_ns; at = &(*at)->older)
		until_ns = (*at)->from_ns;
	if (*at && time_ns < (*at)->until_ns)
		until_ns = (*at)->until_ns;
	err = image_new(time_ns, until_ns, &fresh);
	if (err)
		return err;
	if (*at && time_ns < (*at)->until_ns) {
		err = image_cut(*at, time_ns, fresh);
		if (err)
			return err;
		image_shrink(*at);
	}
	fresh->older = *at;
	*ret = *at = TAKE_PTR(fresh);
	return 0;
}

/*
 * The image a record of time_ns goes to. One that comes before everything we
 * know of the process belongs to the oldest; one after its end, to a new process.
 */
static int image_for(struct process *p, uint64_t time_ns, struct image **ret)
{
	struct image *i = image_at(p, time_ns), *later = NULL;
	int err;

	if (i) {
		*ret = i;
		return 0;
	}
	for (struct image *j = p->newest; j && j->from_ns > time_ns; j = j->older)
		later = j;
	if (later) {
		*ret = later;
		return 0;
	}
	err = image_begin(p, time_ns, ret);
	if (!err)
		(*ret)->headless = true;
	return err;
}

/* Records come a little late and out of order: the latest counts. */
static void changed(struct proc_maps *m, struct process *p, uint64_t time_ns)
{
	m->version++;
	if (p->changed_ns < time_ns)
		p->changed_ns = time_ns;
}

/* ---- mappings ---- */

/* The file or the name of what was seen; the mapping's times are left to image_add. */
static int mapping_make(struct proc_maps *m, const struct maps_sighting *seen, uint64_t start, uint64_t end,
			uint64_t pgoff, struct proc_mapping *ret)
{
	struct proc_mapping map = { .start = start, .end = end, .pgoff = pgoff };
	uint32_t id;
	int err;

	if (seen->ino) {
		err = maps_files_get(m->files, seen, &map.file);
		if (err)
			return err;
		map.name = map.file->path;
	} else {
		err = strtab_intern(m->names, seen->path[0] ? seen->path : "//anon", &id);
		if (err)
			return err;
		map.name = (char *)strtab_str(m->names, id);
	}
	*ret = map;
	return 0;
}

static bool is_wanted(const struct maps_line *l)
{
	return l->exec || !strcmp(l->name, "[vdso]");
}

/* The wanted lines of a maps text (which is written to), malloc'd; those that can't be parsed are left out. */
static int parse_maps(char *text, size_t n, struct maps_line **ret, size_t *ret_n)
{
	_cleanup_(freep) struct maps_line *lines = NULL;
	size_t line_n = 0, cap = 0;
	char *end = text + n;

	for (char *p = text, *nl; p < end; p = nl + 1) {
		struct maps_line l;

		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end; /* there is a NUL, not a part of the text */
		if (maps_line_parse(p, (size_t)(nl - p), &l) || !is_wanted(&l))
			continue;
		if (VEC_RESERVE(lines, cap, line_n + 1) < 0)
			return -ENOMEM;
		lines[line_n++] = l;
	}
	*ret = TAKE_PTR(lines);
	*ret_n = line_n;
	return 0;
}

/* Ends what image had that is not among the n mappings now; newer knowledge than time_ns is left alone. */
static int end_missing(struct image *image, uint64_t time_ns, const struct image *now)
{
	for (size_t i = image->live.n; i-- > 0;) {
		int err;

		if (image->live.v[i].from_ns >= time_ns || image_has(now, &image->live.v[i]))
			continue;
		err = image_end_live(image, i, time_ns);
		if (err)
			return err;
	}
	return 0;
}

static int add_lines(struct proc_maps *m, uint32_t pid, const struct maps_line *lines, size_t n, struct image *now)
{
	for (size_t i = 0; i < n; i++) {
		const struct maps_line *l = &lines[i];
		struct maps_sighting seen = { pid, l->start, l->end, l->maj, l->min, l->ino, l->name };
		struct proc_mapping map;
		int err = mapping_make(m, &seen, l->start, l->end, l->pgoff, &map);

		if (!err)
			err = image_add(now, map);
		if (err)
			return err;
	}
	return 0;
}

/* What is mapped now holds from from_ns on. */
static int snapshot_take(struct proc_maps *m, uint32_t pid, uint64_t from_ns, struct image *now)
{
	SCOPE_LOCK(m);
	struct image *image;
	struct process *p;
	int err = process_get(m, pid, &p);

	if (err)
		return err;
	/* It is alive, so an image that has ended is another's. */
	if (p->newest && p->newest->until_ns != UINT64_MAX && from_ns < p->newest->until_ns)
		from_ns = p->newest->until_ns;
	/* What is there now is the newest's, also when the asked time lies in an earlier one. */
	if (p->newest && from_ns < p->newest->from_ns)
		from_ns = p->newest->from_ns;
	changed(m, p, from_ns);
	err = image_for(p, from_ns, &image);
	if (!err)
		image->headless = false; /* all of it is seen */
	if (!err)
		err = end_missing(image, from_ns, now);
	for (size_t i = 0; !err && i < now->live.n; i++) {
		now->live.v[i].from_ns = from_ns;
		err = image_add(image, now->live.v[i]);
	}
	return err;
}

/* What /proc/PID/maps shows, as an image of its own. */
static int image_read(struct proc_maps *m, uint32_t pid, struct image **ret)
{
	_cleanup_(image_freep) struct image *now = NULL;
	_cleanup_(freep) char *text = NULL;
	_cleanup_(freep) struct maps_line *lines = NULL;
	size_t text_n, n;
	int err = read_pid_file(pid, "maps", MAPS_TEXT_MAX, &text, &text_n);

	if (err)
		return err;
	if (!text_n)
		return -ESRCH; /* a zombie or a kernel thread has no memory */
	err = parse_maps(text, text_n, &lines, &n);
	if (!err)
		err = image_new(0, UINT64_MAX, &now);
	if (!err)
		err = add_lines(m, pid, lines, n, now);
	if (!err)
		*ret = TAKE_PTR(now);
	return err;
}

int proc_maps_snapshot(struct proc_maps *m, uint32_t pid, uint64_t from_ns)
{
	_cleanup_(image_freep) struct image *now = NULL;
	int err = image_read(m, pid, &now);

	return err ? err : snapshot_take(m, pid, from_ns, now);
}

/* ---- putting right ---- */

int proc_maps_read(struct proc_maps *m, uint32_t pid, struct proc_reading **ret)
{
	_cleanup_(proc_reading_freep) struct proc_reading *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->pid = pid;
	err = image_read(m, pid, &r->now);
	if (!err)
		*ret = TAKE_PTR(r);
	return err;
}

struct proc_reading *proc_reading_free(struct proc_reading *r)
{
	if (r)
		image_free(r->now);
	free(r);
	return NULL;
}

/* When what now shows began, as far as can be told: see proc_maps_amend(). False: the image has it already. */
static bool began_find(const struct image *image, const struct proc_mapping *map, const struct proc_amendment *a,
		       uint64_t *ret)
{
	struct image_known known = image_known(image, map, a->from_ns);

	if (image_has(image, map))
		return false;
	*ret = known.other ? a->told_ns : known.any ? a->read_ns : a->from_ns;
	return true;
}

/* Ends what image had and now shows no more; what came while it was being read is left alone. */
static int end_unseen(struct image *image, const struct image *now, const struct proc_amendment *a, bool *ret_changed)
{
	for (size_t i = image->live.n; i-- > 0;) {
		const struct proc_mapping *m = &image->live.v[i];
		uint64_t end_ns = image_known(now, m, 0).other ? a->from_ns : a->read_ns;
		int err;

		if (m->from_ns >= a->read_ns || image_has(now, m))
			continue;
		err = image_end_live(image, i, end_ns > m->from_ns ? end_ns : m->from_ns);
		if (err)
			return err;
		*ret_changed = true;
	}
	return 0;
}

static int image_amend(struct image *image, const struct image *now, const struct proc_amendment *a, bool *ret_changed)
{
	_cleanup_(freep) struct proc_mapping *fresh = calloc(now->live.n + 1, sizeof(*fresh));
	size_t n = 0;
	int err;

	if (!fresh)
		return -ENOMEM;
	for (size_t i = 0; i < now->live.n; i++) {
		fresh[n] = now->live.v[i];
		n += began_find(image, &now->live.v[i], a, &fresh[n].from_ns);
	}
	*ret_changed = n;
	err = end_unseen(image, now, a, ret_changed);
	for (size_t i = 0; !err && i < n; i++)
		err = image_add(image, fresh[i]);
	return err;
}

int proc_maps_amend(struct proc_maps *m, const struct proc_reading *r, const struct proc_amendment *amendment,
		    bool *ret_changed)
{
	SCOPE_LOCK(m);
	struct proc_amendment a = *amendment;
	bool any = false;
	struct image *image;
	struct process *p;
	int err = process_get(m, r->pid, &p);

	if (!err && !p->newest)
		err = image_begin(p, a.from_ns, &image);
	if (err)
		return err;
	image = image_at(p, a.read_ns);
	if (!image || image != image_at(p, a.read_over_ns))
		return -ESTALE;
	if (a.from_ns < image->from_ns)
		a.from_ns = image->from_ns;
	err = image_amend(image, r->now, &a, &any);
	if (any)
		changed(m, p, a.told_ns);
	if (!err)
		*ret_changed = any;
	return err;
}

static int mapping_put(struct proc_maps *m, uint32_t pid, struct proc_mapping map)
{
	SCOPE_LOCK(m);
	struct image *image;
	struct process *p;
	int err = process_get(m, pid, &p);

	if (!err)
		err = image_for(p, map.from_ns, &image);
	if (err)
		return err;
	changed(m, p, map.from_ns);
	return image_add(image, map);
}

int proc_maps_add(struct proc_maps *m, uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t len, uint64_t pgoff,
		  uint32_t maj, uint32_t min, uint64_t ino, const char *path)
{
	_cleanup_(freep) char *name = strdup(path);
	struct proc_mapping map;
	uint64_t end;
	int err;

	if (!name)
		return -ENOMEM;
	if (!len || __builtin_add_overflow(start, len, &end))
		return -EINVAL;
	if (ino)
		maps_name_trim(name);
	/* The kernel may have merged it with a neighbour: then map_files has no such entry and the path serves. */
	err = mapping_make(m, &(struct maps_sighting){ pid, start, end, maj, min, ino, name }, start, end, pgoff, &map);
	if (err)
		return err;
	map.from_ns = time_ns;
	return mapping_put(m, pid, map);
}

/*
 * The image of a process that begins at time_ns. Records of its mappings that
 * overtook the fork's have made one already, which then began earlier than it
 * seemed to.
 */
static int image_fork(struct process *p, uint64_t time_ns, struct image **ret)
{
	struct image *later = NULL;

	for (struct image *i = p->newest; i && i->from_ns > time_ns; i = i->older)
		later = i;
	if (!later || !later->headless || image_at(p, time_ns))
		return image_begin(p, time_ns, ret);
	later->from_ns = time_ns;
	later->headless = false;
	*ret = later;
	return 0;
}

int proc_maps_fork(struct proc_maps *m, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	SCOPE_LOCK(m);
	struct process *from = map_get_ptr(m->processes, parent), *p;
	const struct image *have = from ? image_at(from, time_ns) : NULL;
	struct image *image;
	int err;

	if (pid == parent)
		return -EINVAL;
	err = process_get(m, pid, &p);
	if (!err)
		err = image_fork(p, time_ns, &image);
	if (!err)
		changed(m, p, time_ns);
	for (size_t i = 0; !err && have && i < have->live.n + have->past.n; i++) {
		struct proc_mapping map =
			i < have->live.n ? have->live.v[i] : have->past.v[i - have->live.n];

		if (!mapping_holds(&map, time_ns))
			continue;
		map.from_ns = time_ns;
		err = image_add(image, map);
	}
	return err;
}

static void image_over(struct process *p, uint64_t time_ns)
{
	struct image *image = p ? image_at(p, time_ns) : NULL;

	if (!image)
		return;
	image_cut(image, time_ns, NULL); /* can't fail without a next one */
	image_shrink(image);
}

void proc_maps_exec(struct proc_maps *m, uint32_t pid, uint64_t time_ns)
{
	SCOPE_LOCK(m);
	struct process *p;
	struct image *image;

	if (!process_get(m, pid, &p)) {
		changed(m, p, time_ns);
		if (!image_begin(p, time_ns, &image))
			return;
	}
	/* No memory for the new image: the old one's names must not stand for the new program's. */
	image_over(map_get_ptr(m->processes, pid), time_ns);
}

void proc_maps_exit(struct proc_maps *m, uint32_t pid, uint64_t time_ns)
{
	SCOPE_LOCK(m);

	image_over(map_get_ptr(m->processes, pid), time_ns);
}

const struct proc_mapping *proc_maps_find(const struct proc_maps *m, uint32_t pid, uint64_t time_ns, uint64_t addr)
{
	const struct process *p = map_get_ptr(m->processes, pid);
	const struct image *i = p ? image_at(p, time_ns) : NULL;

	return i ? image_find(i, time_ns, addr) : NULL;
}

bool proc_maps_lookup(const struct proc_maps *m, uint32_t pid, uint64_t time_ns, uint64_t addr, struct proc_mapping *ret)
{
	SCOPE_LOCK(m);
	const struct proc_mapping *map = proc_maps_find(m, pid, time_ns, addr);

	if (map)
		*ret = *map;
	return map;
}

uint64_t proc_maps_changed_ns(const struct proc_maps *m, uint32_t pid)
{
	SCOPE_LOCK(m);
	const struct process *p = map_get_ptr(m->processes, pid);

	return p ? p->changed_ns : 0;
}

uint64_t proc_maps_began_ns(const struct proc_maps *m, uint32_t pid, uint64_t time_ns)
{
	SCOPE_LOCK(m);
	const struct process *p = map_get_ptr(m->processes, pid);
	const struct image *i = p ? image_at(p, time_ns) : NULL;

	return i ? i->from_ns : 0;
}

uint64_t proc_maps_version(const struct proc_maps *m)
{
	return m->version;
}

/* The mapping of addr in an image that may be none. */
static const struct proc_mapping *mapping_in(const struct image *i, uint64_t time_ns, uint64_t addr)
{
	return i ? image_find(i, time_ns, addr) : NULL;
}

static bool means_same(const struct proc_mapping *a, const struct proc_mapping *b)
{
	return a == b || (a && b && mapping_same(a, b));
}

bool proc_maps_same(const struct proc_maps *m, uint32_t pid, uint64_t a_ns, uint64_t b_ns, const uint64_t *addrs,
		    size_t n)
{
	SCOPE_LOCK(m);
	const struct process *p = map_get_ptr(m->processes, pid);
	const struct image *a = p ? image_at(p, a_ns) : NULL, *b = p ? image_at(p, b_ns) : NULL;

	for (size_t i = 0; i < n; i++)
		if (!means_same(mapping_in(a, a_ns, addrs[i]), mapping_in(b, b_ns, addrs[i])))
			return false;
	return true;
}

uint64_t proc_maps_newest_ns(const struct proc_maps *m, uint32_t pid, uint64_t time_ns, const uint64_t *addrs, size_t n)
{
	SCOPE_LOCK(m);
	const struct process *p = map_get_ptr(m->processes, pid);
	const struct image *image = p ? image_at(p, time_ns) : NULL;
	uint64_t newest_ns = 0;

	for (size_t i = 0; i < n; i++) {
		const struct proc_mapping *map = mapping_in(image, time_ns, addrs[i]);

		if (map && map->from_ns > newest_ns)
			newest_ns = map->from_ns;
	}
	return newest_ns;
}

static int by_start(const void *pa, const void *pb)
{
	const struct proc_mapping *a = *(const struct proc_mapping *const *)pa;
	const struct proc_mapping *b = *(const struct proc_mapping *const *)pb;

	return (a->start > b->start) - (a->start < b->start);
}

int proc_maps_each(const struct proc_maps *m, uint32_t pid, uint64_t time_ns,
		   int (*f)(void *arg, const struct proc_mapping *map), void *arg)
{
	SCOPE_LOCK(m);
	const struct process *p = map_get_ptr(m->processes, pid);
	const struct image *image = p ? image_at(p, time_ns) : NULL;
	_cleanup_(freep) const struct proc_mapping **held = NULL;
	size_t n = 0;

	if (!image)
		return 0;
	held = calloc(image->live.n + image->past.n + 1, sizeof(*held));
	if (!held)
		return -ENOMEM;
	for (size_t i = 0; i < image->live.n; i++)
		if (mapping_holds(&image->live.v[i], time_ns))
			held[n++] = &image->live.v[i];
	for (size_t i = 0; i < image->past.n; i++)
		if (mapping_holds(&image->past.v[i], time_ns))
			held[n++] = &image->past.v[i];
	qsort(held, n, sizeof(*held), by_start);
	for (size_t i = 0; i < n; i++) {
		int r = f(arg, held[i]);

		if (r)
			return r;
	}
	return 0;
}
