/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The folder of a recording. wcbpf often runs as root and renames and removes
 * what it finds there, so it must be sure whose it is: by a marker file that
 * only it makes, by refusing links, and by working through file descriptors
 * from the parent folder down. Opening is undone by free unless a recording
 * was written: a target that does not exist or a load that fails costs
 * nobody the recording before. Hence the one before that is only put aside
 * at first; and neither does a failure take a recording's place, nor does a
 * folder that tells only of a failure make one old. The marker is locked while
 * the recording lasts, so a second wcbpf can't take the folder from under the
 * first.
 */
#include "output/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "output/tree.h"
#include "util/cleanup.h"
#include "util/text.h"

#define MARKER ".wcbpf"
#define MARKER_TEXT "A recording of wcbpf. Because of this file wcbpf may rename or remove the folder.\n"

static const char *const nothing[] = {NULL};
static const char *const marker_alone[] = {MARKER, NULL};

struct output_dir {
	char *path;  /* as given, without slashes at its end */
	char *name;  /* in the parent folder */
	char *old;   /* name.old: the recording before */
	char *older; /* name.old.removed: what is to be removed: the one before that, or a failure's files */
	int parent_fd, fd, marker_fd;
	uid_t uid;
	gid_t gid;
	/* What free has to undo. */
	bool made, made_marker, moved, moved_old, moved_failure;
	bool kept;
};

/* Gives err; *ret_why is the path and the reason. */
static int refuse(const struct output_dir *d, char **ret_why, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static int refuse(const struct output_dir *d, char **ret_why, int err, const char *fmt, ...)
{
	_cleanup_(freep) char *reason = NULL;
	va_list ap;

	va_start(ap, fmt);
	reason = text_vformat(fmt, ap);
	va_end(ap);
	*ret_why = text_format("%s: %s", d->path ? d->path : "output folder", reason ? reason : strerror(-err));
	return err;
}

static int refuse_errno(const struct output_dir *d, char **ret_why, int err, const char *what)
{
	return refuse(d, ret_why, err, "%s: %s", what, strerror(-err));
}

static bool sets_owner(const struct output_dir *d)
{
	return d->uid != (uid_t)-1 || d->gid != (gid_t)-1;
}

static int split_path(struct output_dir *d, const char *path, char **ret_why)
{
	_cleanup_(freep) char *parent = NULL;
	const char *slash;
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	d->path = strndup(path, n);
	if (!d->path)
		return -ENOMEM;
	if (!n)
		return refuse(d, ret_why, -EINVAL, "the name of the output folder is empty");
	slash = strrchr(d->path, '/');
	d->name = strdup(slash ? slash + 1 : d->path);
	parent = slash ? strndup(d->path, (size_t)(slash - d->path) + 1) : strdup(".");
	if (!d->name || !parent)
		return -ENOMEM;
	if (!*d->name || !strcmp(d->name, ".") || !strcmp(d->name, ".."))
		return refuse(d, ret_why, -ENOTEMPTY, "a recording needs a folder of its own; name one with -o");
	d->old = text_format("%s.old", d->name);
	if (!d->old)
		return -ENOMEM;
	d->older = text_format("%s.old.removed", d->name);
	if (!d->older)
		return -ENOMEM;
	d->parent_fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (d->parent_fd < 0)
		return refuse_errno(d, ret_why, -errno, "can't open the folder it is to be in");
	return 0;
}

/* A folder in the parent: an fd, -ENOENT, -ELOOP for a link, -ENOTDIR, -errno. */
static int open_folder(const struct output_dir *d, const char *name)
{
	struct stat st;
	int fd = openat(d->parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	/* The kernel says ENOTDIR for a link, too. */
	if (errno == ENOTDIR && !fstatat(d->parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
		return -ELOOP;
	return -errno;
}

static bool is_marked(int fd)
{
	struct stat st;

	return !fstatat(fd, MARKER, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode);
}

static bool is_folder(const struct stat *st, const char *path)
{
	struct stat other;

	return path && !stat(path, &other) && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* Folders that are never a recording's, whatever is in them. */
static bool is_protected(const struct output_dir *d, int fd)
{
	const struct passwd *pw = d->uid != (uid_t)-1 ? getpwuid(d->uid) : NULL;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return true;
	return is_folder(&st, "/") || is_folder(&st, ".") || is_folder(&st, getenv("HOME")) ||
	       is_folder(&st, pw ? pw->pw_dir : NULL);
}

/* -EBUSY if another wcbpf records into the folder. */
static int check_unlocked(int fd)
{
	_cleanup_(closep) int marker = openat(fd, MARKER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (marker < 0)
		return errno == ENOENT ? 0 : -errno;
	if (flock(marker, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return 0;
}

/* 1 if it holds what a recording that could not run leaves, and nothing of anybody else's. */
static int is_failure(int fd)
{
	static const char *const names[] = {MARKER, "offcpu.diagnostics.txt", "offcpu.summary.json", NULL};

	return tree_holds_only(fd, names);
}

/* Makes NAME.old.removed free. */
static void clear_older(const struct output_dir *d)
{
	_cleanup_(closep) int older = open_folder(d, d->older);

	if (older >= 0 && (is_marked(older) || tree_holds_only(older, nothing) == 1))
		tree_remove(d->parent_fd, d->older);
}

/* Puts the files of a failure aside; then nothing is at NAME. */
static int move_failure(struct output_dir *d, char **ret_why)
{
	clear_older(d);
	if (renameat(d->parent_fd, d->name, d->parent_fd, d->older) < 0)
		return refuse(d, ret_why, -errno, "can't be renamed to %s: %m", d->older);
	d->moved_failure = true;
	return 0;
}

/* Puts an older NAME.old aside, if it is a recording's or empty. */
static int move_old(struct output_dir *d, char **ret_why)
{
	_cleanup_(closep) int old = open_folder(d, d->old);
	int err;

	if (old == -ENOENT)
		return 0;
	if (old < 0)
		return refuse(d, ret_why, old, "can't become %s: it is in the way (%s)", d->old, strerror(-old));
	if (!is_marked(old) && tree_holds_only(old, nothing) != 1)
		return refuse(d, ret_why, -ENOTEMPTY, "can't become %s: that is no recording of wcbpf", d->old);
	clear_older(d);
	err = renameat(d->parent_fd, d->old, d->parent_fd, d->older) < 0 ? -errno : 0;
	if (err)
		return refuse(d, ret_why, err, "can't put %s aside: %s", d->old, strerror(-err));
	d->moved_old = true;
	return 0;
}

/* A recording becomes NAME.old; then nothing is at NAME. */
static int move_recording(struct output_dir *d, char **ret_why)
{
	int err = move_old(d, ret_why);

	if (err)
		return err;
	if (renameat(d->parent_fd, d->name, d->parent_fd, d->old) < 0)
		return refuse(d, ret_why, -errno, "can't be renamed to %s: %m", d->old);
	d->moved = true;
	return 0;
}

/* Deals with what is at NAME. Leaves d->fd at an empty folder or at -1 if there is none. */
static int take_place(struct output_dir *d, char **ret_why)
{
	_cleanup_(closep) int fd = open_folder(d, d->name);
	bool marked;
	int empty, err;

	if (fd == -ENOENT)
		return 0;
	if (fd == -ELOOP)
		return refuse(d, ret_why, fd, "is a symbolic link; name the folder itself");
	if (fd < 0)
		return refuse_errno(d, ret_why, fd, "can't be opened as a folder");
	if (is_protected(d, fd))
		return refuse(d, ret_why, -ENOTEMPTY, "a recording needs a folder of its own; name one with -o");
	marked = is_marked(fd);
	/* A recorder that was killed leaves only the marker: no recording to keep. */
	empty = tree_holds_only(fd, marked ? marker_alone : nothing);
	if (empty < 0)
		return refuse_errno(d, ret_why, empty, "can't be read");
	if (!marked && !empty)
		return refuse(d, ret_why, -ENOTEMPTY,
			      "exists and is no recording of wcbpf (no %s in it); name another folder with -o", MARKER);
	err = check_unlocked(fd);
	if (err == -EBUSY)
		return refuse(d, ret_why, err, "another wcbpf is recording into it");
	if (err)
		return refuse_errno(d, ret_why, err, "can't open its " MARKER);
	if (!empty)
		return is_failure(fd) == 1 ? move_failure(d, ret_why) : move_recording(d, ret_why);
	if (marked && unlinkat(fd, MARKER, 0) < 0)
		return refuse_errno(d, ret_why, -errno, "can't replace its " MARKER);
	d->fd = TAKE_FD(fd);
	return 0;
}

static int make_folder(struct output_dir *d, char **ret_why)
{
	if (mkdirat(d->parent_fd, d->name, 0777) < 0)
		return refuse_errno(d, ret_why, -errno, "can't be made");
	d->made = true;
	d->fd = open_folder(d, d->name);
	if (d->fd < 0)
		return refuse_errno(d, ret_why, d->fd, "can't be opened");
	if (sets_owner(d) && fchown(d->fd, d->uid, d->gid) < 0)
		return refuse_errno(d, ret_why, -errno, "can't be given to its owner");
	return 0;
}

/* Also the proof that files can be written here: nothing is worse than to learn that after the workload. */
static int make_marker(struct output_dir *d, char **ret_why)
{
	const char *text = MARKER_TEXT;
	size_t n = strlen(text);

	d->marker_fd = openat(d->fd, MARKER, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (d->marker_fd < 0)
		return refuse_errno(d, ret_why, -errno, "no file can be written in it");
	d->made_marker = true;
	if (sets_owner(d) && fchown(d->marker_fd, d->uid, d->gid) < 0)
		return refuse_errno(d, ret_why, -errno, "its files can't be given to their owner");
	/* Some file systems have no locks; a recording needs none. */
	if (flock(d->marker_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return refuse(d, ret_why, -EBUSY, "another wcbpf is recording into it");
	while (n) {
		ssize_t put = write(d->marker_fd, text, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return refuse_errno(d, ret_why, -errno, "no file can be written in it");
		text += put;
		n -= (size_t)put;
	}
	if (fsync(d->marker_fd) < 0 && errno != EINVAL)
		return refuse_errno(d, ret_why, -errno, "no file can be written in it");
	return 0;
}

int output_dir_open(const char *path, uid_t uid, gid_t gid, struct output_dir **ret, char **ret_why)
{
	_cleanup_(output_dir_freep) struct output_dir *d = calloc(1, sizeof(*d));
	int err;

	*ret_why = NULL;
	if (!d)
		return -ENOMEM;
	d->parent_fd = d->fd = d->marker_fd = -1;
	d->uid = uid;
	d->gid = gid;
	err = split_path(d, path, ret_why);
	if (!err)
		err = take_place(d, ret_why);
	if (!err && d->fd < 0)
		err = make_folder(d, ret_why);
	if (!err)
		err = make_marker(d, ret_why);
	if (err) {
		if (!*ret_why)
			refuse(d, ret_why, err, "%s", strerror(-err));
		return err;
	}
	*ret = TAKE_PTR(d);
	return 0;
}

/* As if it had never been opened. Each step needs the one before: nothing is put over what is there. */
static void undo(struct output_dir *d)
{
	if (d->made_marker)
		unlinkat(d->fd, MARKER, 0);
	if (d->made && unlinkat(d->parent_fd, d->name, AT_REMOVEDIR) < 0)
		return;
	if (d->moved_failure)
		renameat2(d->parent_fd, d->older, d->parent_fd, d->name, RENAME_NOREPLACE);
	if (d->moved && renameat2(d->parent_fd, d->old, d->parent_fd, d->name, RENAME_NOREPLACE) < 0)
		return;
	if (d->moved_old)
		renameat2(d->parent_fd, d->older, d->parent_fd, d->old, RENAME_NOREPLACE);
}

struct output_dir *output_dir_free(struct output_dir *d)
{
	if (!d)
		return NULL;
	if (!d->kept)
		undo(d);
	closep(&d->marker_fd);
	closep(&d->fd);
	closep(&d->parent_fd);
	free(d->path);
	free(d->name);
	free(d->old);
	free(d->older);
	free(d);
	return NULL;
}

enum output_state output_dir_state(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), marker = -1;
	int err;

	if (fd < 0 || !is_marked(fd))
		return OUTPUT_STATE_NONE;
	marker = openat(fd, MARKER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	/* Shared, so that two readers don't take each other for a recorder. */
	err = marker >= 0 && flock(marker, LOCK_SH | LOCK_NB) < 0 ? errno : 0;
	return err == EWOULDBLOCK ? OUTPUT_STATE_RECORDING : OUTPUT_STATE_OVER;
}

const char *output_dir_path(const struct output_dir *d)
{
	return d->path;
}

int dir_fd(const struct output_dir *d)
{
	return d->fd;
}

void dir_file_options(const struct output_dir *d, struct files_writer_options *ret)
{
	*ret = (struct files_writer_options){.set_owner = sets_owner(d), .uid = d->uid, .gid = d->gid};
}

bool dir_replaces_recording(const struct output_dir *d)
{
	return d->moved && !d->kept;
}

void dir_keep(struct output_dir *d)
{
	/* Failing to remove it harms nothing: the next recording tries again. */
	if (!d->kept && (d->moved_old || d->moved_failure))
		tree_remove(d->parent_fd, d->older);
	d->kept = true;
}
