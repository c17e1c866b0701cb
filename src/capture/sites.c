/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * uprobe_multi links are made by the raw system call: Debian 12's libbpf knows
 * nothing of them, and with it nor do its headers. The file is named through
 * /proc/self/fd, so it may lie in any mount namespace, or be deleted.
 */
#include "capture/sites.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/internal.h"
#include "capture/transient.h"
#include "util/cleanup.h"

#define MULTI_RETURN 1u /* BPF_F_UPROBE_MULTI_RETURN */
#define PMU_PATH "/sys/bus/event_source/devices/uprobe"

/* The part of union bpf_attr that BPF_LINK_CREATE takes for uprobe_multi (include/uapi/linux/bpf.h, 89ae89f53d20). */
struct link_create_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_offsets, cookies;
	uint32_t n, multi_flags, pid, pad;
};

struct site_link {
	enum site_how how;
	size_t n;
	struct site_fd {
		uint64_t offset;
		int link;  /* of a perf event, -1: none. Or of all there is */
		int event; /* -1: none */
	} v[];
};

static int link_create(const struct link_create_attr *attr)
{
	unsigned tries = 0;
	int fd;

	do {
		fd = syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));
		fd = fd < 0 ? -errno : fd;
	} while (transient_again(fd, &tries));
	return fd;
}

/* A link that can't be: to a folder. What says so first is whether the kind of link is known. */
static bool multi_works(void)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = SITES_ATTACH_MULTI);
	uint64_t offset = 0;
	struct link_create_attr attr = { .attach_type = SITES_ATTACH_MULTI, .path = (uintptr_t)"/",
					 .offsets = (uintptr_t)&offset, .n = 1 };
	_cleanup_(closep) int prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "nothing", "GPL", nothing, 2, &opts);
	int link;

	if (prog < 0)
		return false;
	attr.prog_fd = prog;
	link = link_create(&attr);
	if (link >= 0)
		close(link);
	return link == -EBADF;
}

enum site_how sites_how(const struct features *f)
{
	const char *asked = getenv("WCBPF_UPROBES");

	if (asked && !strcmp(asked, "address"))
		return SITES_ADDRESS;
	if (asked && !strcmp(asked, "cookie") && f->attach_cookie)
		return SITES_COOKIE;
	if (f->attach_cookie && multi_works())
		return SITES_MULTI;
	return f->attach_cookie ? SITES_COOKIE : SITES_ADDRESS;
}

/* ---- one link for all ---- */

static int multi_attach(int program, const char *path, uint32_t pid, bool returning, const struct site_place *places,
			size_t n, int *ret)
{
	_cleanup_(freep) uint64_t *words = calloc(n, 3 * sizeof(*words));
	uint64_t *offsets = words, *refs = words + n, *cookies = words + 2 * n;
	bool has_refs = false;
	int fd;

	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		offsets[i] = places[i].offset;
		refs[i] = places[i].ref_offset;
		cookies[i] = places[i].cookie;
		has_refs = has_refs || refs[i];
	}
	fd = link_create(&(struct link_create_attr){ .prog_fd = program, .attach_type = SITES_ATTACH_MULTI,
						      .path = (uintptr_t)path, .offsets = (uintptr_t)offsets,
						      .ref_offsets = has_refs ? (uintptr_t)refs : 0,
						      .cookies = (uintptr_t)cookies, .n = n,
						      .multi_flags = returning ? MULTI_RETURN : 0, .pid = pid });
	if (fd < 0)
		return fd;
	*ret = fd;
	return 0;
}

/* ---- a perf event for each ---- */

static int pmu_number(const char *file, const char *format, uint32_t *ret)
{
	char path[128];
	_cleanup_(fclosep) FILE *f = NULL;

	snprintf(path, sizeof(path), PMU_PATH "/%s", file);
	f = fopen(path, "re");
	return f && fscanf(f, format, ret) == 1 ? 0 : -EOPNOTSUPP;
}

static int event_open(const char *path, uint32_t pid, bool returning, const struct site_place *place)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .uprobe_path = (uintptr_t)path, .probe_offset = place->offset };
	uint32_t type, bit = 0;
	unsigned tries = 0;
	int err = pmu_number("type", "%u", &type), fd;

	if (!err && returning)
		err = pmu_number("format/retprobe", "config:%u", &bit);
	if (err)
		return err;
	attr.type = type;
	attr.config = (returning ? 1ull << bit : 0) | place->ref_offset << 32; /* as its format/ref_ctr_offset says */
	/* of a process: all that share its memory; of all: any one CPU will do */
	do {
		fd = syscall(SYS_perf_event_open, &attr, pid ? (int)pid : -1, pid ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	} while (transient_again(fd, &tries));
	return fd;
}

/* The event's descriptor and, with cookies, that of its link: *ret_link -1: none. */
static int event_attach(enum site_how how, int program, const char *path, uint32_t pid, bool returning,
			const struct site_place *place, int *ret_event, int *ret_link)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = place->cookie);
	_cleanup_(closep) int event = event_open(path, pid, returning, place);
	int link = -1;

	if (event < 0)
		return event;
	if (how == SITES_COOKIE) {
		link = bpf_link_create(program, event, BPF_PERF_EVENT, &opts);
		if (link < 0)
			return -errno;
	} else if (ioctl(event, PERF_EVENT_IOC_SET_BPF, program)) {
		return -errno;
	}
	if (ioctl(event, PERF_EVENT_IOC_ENABLE, 0)) {
		int err = -errno;

		if (link >= 0)
			close(link);
		return err;
	}
	*ret_event = TAKE_FD(event);
	*ret_link = link;
	return 0;
}

DEFINE_CLEANUP(struct site_link *, site_link_free)

int site_link_new(enum site_how how, int program, int file, uint32_t pid, bool returning, const struct site_place *places,
		  size_t n, struct site_link **ret)
{
	_cleanup_(site_link_freep) struct site_link *l = calloc(1, sizeof(*l) + (how == SITES_MULTI ? 1 : n) * sizeof(l->v[0]));
	char path[64];
	int err = 0;

	if (!l)
		return -ENOMEM;
	l->how = how;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (how == SITES_MULTI) {
		l->v[0].event = -1;
		err = multi_attach(program, path, pid, returning, places, n, &l->v[0].link);
		l->n = !err;
	}
	for (size_t i = 0; how != SITES_MULTI && i < n && !err; i++) {
		l->v[i].offset = places[i].offset;
		err = event_attach(how, program, path, pid, returning, &places[i], &l->v[i].event, &l->v[i].link);
		l->n += !err;
	}
	if (err)
		return err;
	*ret = TAKE_PTR(l);
	return 0;
}

/* A perf event's link before the event. */
static void site_fd_close(struct site_fd *f)
{
	closep(&f->link);
	closep(&f->event);
	f->link = f->event = -1;
}

int site_link_drop(struct site_link *l, const uint64_t *offsets, size_t n)
{
	if (l->how == SITES_MULTI)
		return -ENOTSUP;
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < n; k++)
			if (l->v[i].offset == offsets[k])
				site_fd_close(&l->v[i]);
	return 0;
}

struct site_link *site_link_free(struct site_link *l)
{
	if (!l)
		return NULL;
	for (size_t i = 0; i < l->n; i++)
		site_fd_close(&l->v[i]);
	free(l);
	return NULL;
}
