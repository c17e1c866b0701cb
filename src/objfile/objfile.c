/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * libelf reads by pread, not by mmap: a file that its owner truncates while we
 * look at it gives an error then, where a mapping gives SIGBUS. It also reads
 * only the sections that are asked for, so a program of 100 MB costs its
 * symbol and string tables.
 */
#include "objfile/objfile.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "objfile/minidebug.h"
#include "objfile/symbols.h"
#include "util/cleanup.h"
#include "util/files.h"

#define BUILD_ID_MAX 64
#define PAGE_MASK 4095ull

struct segment {
	uint64_t offset, filesz, vaddr;
	bool exec, write;
};

struct objfile {
	int fd;	     /* -1: from memory, or detached */
	char *path;  /* if opened by path, else NULL */
	void *image; /* from memory, else NULL */
	size_t image_n;
	Elf *elf;
	struct segment *segments; /* PT_LOAD only */
	size_t segment_n;
	struct symbols *symbols; /* NULL: not read yet */
	char build_id[2 * BUILD_ID_MAX + 1];
};

DEFINE_CLEANUP(struct objfile *, objfile_free)

static void read_build_id(struct objfile *o)
{
	const unsigned char *id;
	ssize_t n = dwelf_elf_gnu_build_id(o->elf, (const void **)&id);

	if (n > BUILD_ID_MAX)
		n = BUILD_ID_MAX;
	for (ssize_t i = 0; i < n; i++) {
		o->build_id[2 * i] = "0123456789abcdef"[id[i] >> 4];
		o->build_id[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
	}
}

static int read_segments(struct objfile *o)
{
	size_t n;

	if (elf_getphdrnum(o->elf, &n) || n > INT32_MAX)
		return -ENOEXEC;
	o->segments = calloc(n + 1, sizeof(*o->segments));
	if (!o->segments)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(o->elf, (int)i, &p))
			break;
		if (p.p_type == PT_LOAD)
			o->segments[o->segment_n++] =
				(struct segment){ p.p_offset, p.p_filesz, p.p_vaddr, p.p_flags & PF_X, p.p_flags & PF_W };
	}
	return 0;
}

/* o->elf is set, or NULL because libelf failed. */
static int objfile_begin(struct objfile *o)
{
	GElf_Ehdr ehdr;

	if (!o->elf || elf_kind(o->elf) != ELF_K_ELF || !gelf_getehdr(o->elf, &ehdr))
		return -ENOEXEC;
	read_build_id(o);
	return read_segments(o);
}

int objfile_open_fd(int fd, struct objfile **ret)
{
	_cleanup_(objfile_freep) struct objfile *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	o->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (o->fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	o->elf = elf_begin(o->fd, ELF_C_READ, NULL);
	err = objfile_begin(o);
	if (err)
		return err;
	*ret = TAKE_PTR(o);
	return 0;
}

int objfile_open_path(int root_fd, const char *path, struct objfile **ret)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(closep) int fd = -1;
	struct stat st;
	int err = files_open_regular(root_fd < 0 ? AT_FDCWD : root_fd, path, root_fd >= 0, &fd, &st);

	if (!err)
		err = objfile_open_fd(fd, &o);
	if (err)
		return err;
	o->path = strdup(path);
	if (!o->path)
		return -ENOMEM;
	*ret = TAKE_PTR(o);
	return 0;
}

int objfile_open_memory(const void *image, size_t n, struct objfile **ret)
{
	_cleanup_(objfile_freep) struct objfile *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	o->fd = -1;
	if (!n)
		return -ENOEXEC;
	o->image = malloc(n);
	if (!o->image)
		return -ENOMEM;
	memcpy(o->image, image, n);
	o->image_n = n;
	elf_version(EV_CURRENT);
	o->elf = elf_memory(o->image, n);
	err = objfile_begin(o);
	if (err)
		return err;
	*ret = TAKE_PTR(o);
	return 0;
}

/* The kernel gives the address alone; where its section headers or its last segment end is how long it is. */
int objfile_open_vdso(struct objfile **ret)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	ElfW(Ehdr) ehdr;
	size_t n;

	if (!image)
		return -ENOENT;
	memcpy(&ehdr, image, sizeof(ehdr));
	n = ehdr.e_shoff + (size_t)ehdr.e_shnum * ehdr.e_shentsize;
	for (size_t i = 0; i < ehdr.e_phnum; i++) {
		ElfW(Phdr) p;

		memcpy(&p, image + ehdr.e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_LOAD && p.p_offset + p.p_filesz > n)
			n = p.p_offset + p.p_filesz;
	}
	return objfile_open_memory(image, n, ret);
}

struct objfile *objfile_free(struct objfile *o)
{
	if (!o)
		return NULL;
	symbols_free(o->symbols);
	if (o->elf)
		elf_end(o->elf);
	free(o->image);
	free(o->path);
	free(o->segments);
	closep(&o->fd);
	free(o);
	return NULL;
}

void objfile_detach(struct objfile *o, bool with_symbols)
{
	if (with_symbols && !o->symbols)
		objfile_read_symbols(o, NULL); /* fails: no names, as when they can't be read later */
	if (with_symbols && o->elf) {
		elf_end(o->elf);
		o->elf = NULL;
		free(TAKE_PTR(o->image));
	}
	if (o->fd < 0)
		return;
	elf_cntl(o->elf, ELF_C_FDDONE);
	closep(&o->fd);
	o->fd = -1;
}

const char *objfile_build_id(const struct objfile *o)
{
	return o->build_id;
}

const char *objfile_path(const struct objfile *o)
{
	return o->path;
}

Elf *objfile_elf(struct objfile *o)
{
	return o->elf;
}

int objfile_fd(const struct objfile *o)
{
	return o->fd;
}

/*
 * Segments are mapped in whole pages, so a page of the file may be mapped by
 * two of them: the executable one is meant, we deal in code; and only if no
 * segment states the offset does one that has it in its first page.
 */
int objfile_vaddr_of_offset(const struct objfile *o, uint64_t offset, uint64_t *ret)
{
	const struct segment *best = NULL;
	int best_rank = 0;

	for (size_t i = 0; i < o->segment_n; i++) {
		const struct segment *s = &o->segments[i];
		bool inside = offset >= s->offset && offset - s->offset < s->filesz;
		bool in_page = offset >= (s->offset & ~PAGE_MASK) && offset < s->offset;
		int rank = inside ? 2 + 2 * s->exec : in_page ? 1 + 2 * s->exec : 0;

		if (rank > best_rank) {
			best = s;
			best_rank = rank;
		}
	}
	if (!best)
		return -ENOENT;
	*ret = best->vaddr + (offset - best->offset);
	return 0;
}

int objfile_offset_of_vaddr(const struct objfile *o, uint64_t vaddr, uint64_t *ret)
{
	for (size_t i = 0; i < o->segment_n; i++) {
		const struct segment *s = &o->segments[i];
		uint64_t offset;

		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->filesz ||
		    __builtin_add_overflow(s->offset, vaddr - s->vaddr, &offset))
			continue;
		*ret = offset;
		return 0;
	}
	return -ENOENT;
}

/* What a stripped file may carry instead of .symtab; NULL: nothing. */
static struct objfile *open_minidebug(Elf *elf)
{
	_cleanup_(freep) void *image = NULL;
	struct objfile *mini;
	size_t n;

	if (!elf || minidebug_read(elf, &image, &n) || objfile_open_memory(image, n, &mini))
		return NULL;
	return mini;
}

int objfile_read_symbols(struct objfile *o, struct objfile *debug)
{
	_cleanup_(objfile_freep) struct objfile *mini = NULL;
	struct symbols *symbols;
	int err;

	if (!o->elf)
		return -EBADF;
	if (!symbols_has_symtab(o->elf) && !(debug && symbols_has_symtab(debug->elf)))
		mini = open_minidebug(o->elf);
	err = symbols_new((Elf *[]){ o->elf, debug ? debug->elf : NULL, mini ? mini->elf : NULL }, 3, &symbols);
	if (err)
		return err;
	symbols_free(o->symbols);
	o->symbols = symbols;
	return 0;
}

bool objfile_has_symtab(const struct objfile *o)
{
	return symbols_has_symtab(o->elf);
}

bool objfile_static_known(const struct objfile *o)
{
	return o->symbols && symbols_static_known(o->symbols);
}

int objfile_interpreter(const struct objfile *o, char *ret, size_t size)
{
	size_t n;

	if (!o->elf)
		return -EBADF;
	if (elf_getphdrnum(o->elf, &n))
		return -EBADMSG;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Phdr p;
		int r;

		if (!gelf_getphdr(o->elf, (int)i, &p) || p.p_type != PT_INTERP)
			continue;
		if (p.p_filesz >= size)
			return -ENAMETOOLONG;
		r = objfile_read(o, p.p_offset, ret, p.p_filesz);
		if (r < 0)
			return r;
		ret[p.p_filesz] = 0;
		return 0;
	}
	return -ENOENT;
}

int objfile_read(const struct objfile *o, uint64_t offset, void *ret, size_t n)
{
	size_t have = 0;

	if (o->image) {
		if (offset > o->image_n || n > o->image_n - offset)
			return -EBADMSG;
		memcpy(ret, (const uint8_t *)o->image + offset, n);
		return 0;
	}
	if (o->fd < 0)
		return -EBADF;
	if (offset > INT64_MAX - n)
		return -EBADMSG;
	while (have < n) {
		ssize_t got = pread(o->fd, (uint8_t *)ret + have, n - have, (off_t)(offset + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		have += (size_t)got;
	}
	return 0;
}

int objfile_read_vaddr(const struct objfile *o, uint64_t vaddr, void *ret, size_t n)
{
	for (size_t i = 0; i < o->segment_n; i++) {
		const struct segment *s = &o->segments[i];
		uint64_t offset;

		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->filesz || n > s->filesz - (vaddr - s->vaddr))
			continue;
		if (__builtin_add_overflow(s->offset, vaddr - s->vaddr, &offset))
			return -EBADMSG;
		return objfile_read(o, offset, ret, n);
	}
	return -EBADMSG;
}

int objfile_read_constant(const struct objfile *o, uint64_t vaddr, void *ret, size_t n, size_t *ret_n)
{
	int err;

	for (size_t i = 0; i < o->segment_n; i++) {
		const struct segment *s = &o->segments[i];

		if (s->write || vaddr < s->vaddr || vaddr - s->vaddr >= s->filesz)
			continue;
		n = n < s->filesz - (vaddr - s->vaddr) ? n : s->filesz - (vaddr - s->vaddr);
		err = objfile_read_vaddr(o, vaddr, ret, n);
		if (err)
			return err;
		*ret_n = n;
		return 0;
	}
	return -ENOENT;
}

int objfile_symbol(struct objfile *o, uint64_t vaddr, struct objfile_symbol *ret)
{
	if (!o->symbols) {
		int err = objfile_read_symbols(o, NULL);

		if (err)
			return err;
	}
	return symbols_find(o->symbols, vaddr, ret);
}
