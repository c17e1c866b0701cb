/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A mapped file is opened when it is first seen: later the process may have
 * gone, the file may be deleted, its path may lead to another file. While it
 * is held open its inode number can't be given to another file, so (device,
 * inode) names it for as long as we live.
 *
 * Three ways to it, the surest first: /proc/PID/map_files is the mapping's own
 * file whatever became of its path; the path inside the target's root; the same
 * path in our root when the process is gone. The inode must be the mapping's.
 * The device may differ where a filesystem shows two of them for one file: btrfs
 * has one a subvolume in stat and one a filesystem in maps, overlayfs shows
 * the lower one in maps. So a differing device is accepted inside the target's
 * own root, and elsewhere only for pairs that map_files has shown to be one.
 */
#include "proc/maps-file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "util/cleanup.h"
#include "util/files.h"
#include "util/map.h"

#define DEV_PAIRS_MAX 32

struct file {
	struct proc_file pub; /* first: proc_file_open goes from it to this */
	pthread_mutex_t *lock; /* of what follows and of pub.fd: a file may be opened late, when others know it */
	uint32_t pid;	      /* the process it was first seen in */
	dev_t dev;	      /* as stat gave it when it was opened; 0: never opened */
	off_t size;
	struct timespec mtime;
	struct file *next; /* of the same inode number: of another device, or dead */
};

/* One device by its two names. */
struct dev_pair {
	dev_t maps, stat;
};

struct maps_files {
	pthread_mutex_t lock;
	struct map *by_ino; /* to the newest file of that inode number */
	struct dev_pair pairs[DEV_PAIRS_MAX];
	size_t pair_n;
};

DEFINE_CLEANUP(struct maps_files *, maps_files_free)

static struct file *file_free(struct file *f)
{
	if (!f)
		return NULL;
	closep(&f->pub.fd);
	free(f->pub.path);
	free(f);
	return NULL;
}
DEFINE_CLEANUP(struct file *, file_free)

int maps_files_new(struct maps_files **ret)
{
	_cleanup_(maps_files_freep) struct maps_files *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	err = map_new(&f->by_ino);
	if (err)
		return err;
	*ret = TAKE_PTR(f);
	return 0;
}

struct maps_files *maps_files_free(struct maps_files *f)
{
	uint64_t ino, head;

	if (!f)
		return NULL;
	for (size_t at = 0; f->by_ino && map_next(f->by_ino, &at, &ino, &head);) {
		struct file *next;

		for (struct file *e = (struct file *)(uintptr_t)head; e; e = next) {
			next = e->next;
			file_free(e);
		}
	}
	map_free(f->by_ino);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return NULL;
}

static bool devs_paired(const struct maps_files *f, dev_t maps, dev_t st)
{
	if (maps == st)
		return true;
	for (size_t i = 0; i < f->pair_n; i++)
		if (f->pairs[i].maps == maps && f->pairs[i].stat == st)
			return true;
	return false;
}

static void devs_learn(struct maps_files *f, dev_t maps, dev_t st)
{
	if (!devs_paired(f, maps, st) && f->pair_n < DEV_PAIRS_MAX)
		f->pairs[f->pair_n++] = (struct dev_pair){ maps, st };
}

/*
 * How many descriptors may be taken: the lowest free number is always given
 * out, so a number near the limit says how many everybody here holds.
 */
static bool near_limit(int fd)
{
	struct rlimit l;

	return getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur != RLIM_INFINITY &&
	       (rlim_t)fd >= l.rlim_cur - l.rlim_cur / 5;
}

static int open_in_root(uint32_t pid, const char *path, int *ret, struct stat *ret_st)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "/proc/%" PRIu32 "/root%s", pid, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	return files_open_regular(AT_FDCWD, full, false, ret, ret_st);
}

static int open_sighting(struct maps_files *f, const struct maps_sighting *seen, int *ret, struct stat *ret_st)
{
	_cleanup_(closep) int fd = -1;
	dev_t dev = makedev(seen->maj, seen->min);
	char path[96];
	struct stat st;

	if (seen->start < seen->end) {
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, seen->pid, seen->start,
			 seen->end);
		if (!files_open_regular(AT_FDCWD, path, false, &fd, &st) && st.st_ino == seen->ino) {
			devs_learn(f, dev, st.st_dev);
			*ret = TAKE_FD(fd);
			*ret_st = st;
			return 0;
		}
		closep(&fd);
		fd = -1;
	}
	if (seen->path[0] != '/')
		return -ENOENT;
	if (!open_in_root(seen->pid, seen->path, &fd, &st) && st.st_ino == seen->ino) {
		*ret = TAKE_FD(fd);
		*ret_st = st;
		return 0;
	}
	closep(&fd);
	fd = -1;
	if (!files_open_regular(AT_FDCWD, seen->path, false, &fd, &st) && st.st_ino == seen->ino &&
	    devs_paired(f, dev, st.st_dev)) {
		*ret = TAKE_FD(fd);
		*ret_st = st;
		return 0;
	}
	return -ENOENT;
}

static void file_open(struct maps_files *f, struct file *e, const struct maps_sighting *seen)
{
	_cleanup_(closep) int fd = -1;
	struct stat st;

	if (open_sighting(f, seen, &fd, &st))
		return;
	pthread_mutex_lock(&f->lock);
	e->pid = seen->pid;
	e->dev = st.st_dev;
	e->size = st.st_size;
	e->mtime = st.st_mtim;
	if (!near_limit(fd))
		e->pub.fd = TAKE_FD(fd);
	pthread_mutex_unlock(&f->lock);
}

int maps_files_get(struct maps_files *f, const struct maps_sighting *seen, const struct proc_file **ret)
{
	_cleanup_(file_freep) struct file *fresh = NULL;
	struct file *head = map_get_ptr(f->by_ino, seen->ino);
	int err;

	for (struct file *e = head; e; e = e->next) {
		if (e->pub.maj != seen->maj || e->pub.min != seen->min)
			continue;
		/* Not held open, its inode may have been given to another file since. */
		if (e->pub.fd < 0 && strcmp(e->pub.path, seen->path))
			continue;
		if (e->pub.fd < 0 && !e->dev)
			file_open(f, e, seen);
		*ret = &e->pub;
		return 0;
	}
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	fresh->pub = (struct proc_file){ .maj = seen->maj, .min = seen->min, .ino = seen->ino, .fd = -1 };
	fresh->lock = &f->lock;
	fresh->pid = seen->pid;
	fresh->pub.path = strdup(seen->path);
	if (!fresh->pub.path)
		return -ENOMEM;
	file_open(f, fresh, seen);
	fresh->next = head;
	err = map_put_ptr(f->by_ino, seen->ino, fresh);
	if (err)
		return err;
	*ret = &TAKE_PTR(fresh)->pub;
	return 0;
}

/* Is st the file that e was when it was opened? Size and time too: an inode not held open is reused. */
static bool still_same(const struct file *e, const struct stat *st)
{
	return st->st_ino == e->pub.ino && st->st_dev == e->dev && st->st_size == e->size &&
	       st->st_mtim.tv_sec == e->mtime.tv_sec && st->st_mtim.tv_nsec == e->mtime.tv_nsec;
}

/* What is known of the file, in *ret; a new descriptor of the open one, or -1 if it isn't held. */
static int file_state(const struct file *e, struct file *ret, int *ret_fd)
{
	int fd = -1, err = 0;

	pthread_mutex_lock(e->lock);
	*ret = *e;
	if (e->pub.fd >= 0) {
		fd = fcntl(e->pub.fd, F_DUPFD_CLOEXEC, 3);
		err = fd < 0 ? -errno : 0;
	}
	pthread_mutex_unlock(e->lock);
	*ret_fd = fd;
	return err;
}

int proc_file_open(const struct proc_file *pub, int *ret)
{
	_cleanup_(closep) int fd = -1;
	struct file e;
	struct stat st;
	int err = file_state((const struct file *)pub, &e, &fd);

	if (err)
		return err;
	if (fd >= 0) {
		*ret = TAKE_FD(fd);
		return 0;
	}
	if (!e.dev || pub->path[0] != '/')
		return -ENOENT;
	err = open_in_root(e.pid, pub->path, &fd, &st);
	if (err || !still_same(&e, &st)) {
		closep(&fd);
		fd = -1;
		err = files_open_regular(AT_FDCWD, pub->path, false, &fd, &st);
		if (err)
			return err;
		if (!still_same(&e, &st))
			return -ESTALE;
	}
	*ret = TAKE_FD(fd);
	return 0;
}
