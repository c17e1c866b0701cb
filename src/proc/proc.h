/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Readers of /proc and the timeline of what each process had mapped.
 *
 * All PIDs are of the PID namespace of the /proc that is read (ours).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- single facts ---- */

/* /proc/PID/stat: -ESRCH when there is no such process, -EBADMSG when it can't be parsed. */
struct proc_stat {
	uint32_t pid, ppid, pgrp, session;
	char state;	      /* R S D Z T t X I ... */
	bool kthread;	      /* PF_KTHREAD */
	uint64_t start_ticks; /* clock ticks since boot */
	char comm[64];	      /* raw bytes */
};
int proc_stat_read(uint32_t pid, struct proc_stat *ret);
/* The process a thread belongs to (Tgid of /proc/TID/status). -ESRCH. */
int proc_tgid(uint32_t tid, uint32_t *ret);
/* The user a process acts as (its file system uid). -ESRCH. */
int proc_uid(uint32_t pid, uid_t *ret);
/* A process's number in its innermost PID namespace (the last of NSpid). -ESRCH. */
int proc_ns_pid(uint32_t pid, uint32_t *ret);
/* voluntary_ctxt_switches and nonvoluntary_ctxt_switches of one thread. */
int proc_switches(uint32_t pid, uint32_t tid, uint64_t *ret_voluntary, uint64_t *ret_involuntary);
/* argv with NULs, malloc'd; an empty one (kernel thread, zombie) is 0 bytes, not an error. */
int proc_cmdline(uint32_t pid, char **ret, size_t *ret_n);
/* Target of /proc/PID/fd/FD, malloc'd. */
int proc_fd_link(uint32_t pid, int fd, char **ret);
/* tids of a process, malloc'd. -ESRCH. */
int proc_threads(uint32_t pid, uint32_t **ret, size_t *ret_n);
/* Path of the cgroup v2 directory's id (inode) for -G. */
int proc_cgroup_id(const char *path, uint64_t *ret);

/* ---- kernel symbols ---- */

/* Functions of /proc/kallsyms: the kernel's from _text to _end, modules', and what BPF programs are loaded just now. */
struct ksyms;
/* -EPERM if addresses are hidden (kptr_restrict), -errno. path NULL: /proc/kallsyms. */
int ksyms_new(const char *path, struct ksyms **ret);
struct ksyms *ksyms_free(struct ksyms *k);
struct ksym {
	const char *name;
	const char *module; /* "" for the kernel proper */
	uint64_t start;
	bool bpf; /* a BPF program or its trampoline */
};
/* The symbol that covers addr. -ENOENT. Lookups are O(log n). */
int ksyms_lookup(const struct ksyms *k, uint64_t addr, struct ksym *ret);
/* Where the kernel proper begins (_text); 0: not known. */
uint64_t ksyms_text(const struct ksyms *k);
/* Where the kernel proper's code lies, and in it its scheduler's and its locks': [start, end) each. -ENOENT: not known. */
struct ksyms_code {
	uint64_t text[2], sched[2], lock[2];
};
int ksyms_code(const struct ksyms *k, struct ksyms_code *ret);
/* The address of the kernel proper's symbol of that name. -ENOENT. O(n). */
int ksyms_find(const struct ksyms *k, const char *name, uint64_t *ret);

/* ---- mappings over time ---- */

/*
 * The executable mappings of every traced process, each with the span of time
 * for which it held. Fed with snapshots of /proc/PID/maps and with mmap
 * records; asked for the mapping at an address at a time. Files are opened the
 * moment they are first seen, so they can be read when the process has gone or
 * the file is deleted; one struct proc_file a (dev, ino). One thread writes;
 * others may call proc_maps_lookup() and proc_maps_each() meanwhile and use what it gives.
 */
struct proc_maps;

struct proc_file {
	uint32_t maj, min;
	uint64_t ino;
	char *path;	/* as the target saw it, without " (deleted)" */
	int fd;		/* for the writing thread: open for reading, or -1: could not be opened in time, or there are too many */
	void *objfile;	/* for the owner of the object-file cache; set and freed by sym/ */
};

struct proc_mapping {
	uint64_t start, end; /* addresses [start, end) */
	uint64_t pgoff;	     /* file offset of start */
	uint64_t from_ns, until_ns; /* held in [from, until); until UINT64_MAX: still holds */
	const struct proc_file *file; /* NULL: anonymous (JIT) */
	char *name;	     /* "[vdso]", "[heap]", "//anon", ...; path for files */
};

int proc_maps_new(struct proc_maps **ret);
struct proc_maps *proc_maps_free(struct proc_maps *m); /* closes the files */
/* Reads /proc/PID/maps: what it shows holds from 0 (snapshot at start) or from time_ns on. -ESRCH when it's gone. */
int proc_maps_snapshot(struct proc_maps *m, uint32_t pid, uint64_t from_ns);
/* What /proc/PID/maps shows now, to be put in its place when all records of now have come. -ESRCH when it's gone. */
struct proc_reading;
int proc_maps_read(struct proc_maps *m, uint32_t pid, struct proc_reading **ret);
struct proc_reading *proc_reading_free(struct proc_reading *r); /* before the maps */
struct proc_amendment {
	uint64_t from_ns;	       /* since then records may be missing */
	uint64_t read_ns, read_over_ns; /* before and after proc_maps_read() */
	uint64_t told_ns;	       /* now */
};
/*
 * Puts right what records have not told. What was mapped where nothing was known has been there since from_ns (or the
 * latest exec): no code ran there before it was. What lies where another mapping was known came at a time that nobody
 * knows: until told_ns neither is known there. -ESTALE: the process has had an exec meanwhile or is over, nothing was
 * changed.
 */
int proc_maps_amend(struct proc_maps *m, const struct proc_reading *r, const struct proc_amendment *a,
		    bool *ret_changed);
/* A record of a new executable mapping. Cuts what it overlaps. pid's root is used to open the file. */
int proc_maps_add(struct proc_maps *m, uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t len, uint64_t pgoff,
		  uint32_t maj, uint32_t min, uint64_t ino, const char *path);
/*
 * A new process starts with its parent's mappings. Its own first records may have come before this: they go on
 * holding.
 */
int proc_maps_fork(struct proc_maps *m, uint32_t pid, uint32_t parent, uint64_t time_ns);
/* exec: everything mapped before ends. */
void proc_maps_exec(struct proc_maps *m, uint32_t pid, uint64_t time_ns);
void proc_maps_exit(struct proc_maps *m, uint32_t pid, uint64_t time_ns);
/*
 * The mapping that held addr at time_ns; false: none known. Its file and name
 * live as long as the maps. For any thread.
 */
bool proc_maps_lookup(const struct proc_maps *m, uint32_t pid, uint64_t time_ns, uint64_t addr, struct proc_mapping *ret);
/* When a mapping of the process was last made, as far as is known: later than that addresses mean what they mean now. */
uint64_t proc_maps_changed_ns(const struct proc_maps *m, uint32_t pid);
/* When the address space that the process had at time_ns began, by a fork or an exec; 0: not known, or before all. */
uint64_t proc_maps_began_ns(const struct proc_maps *m, uint32_t pid, uint64_t time_ns);
/* For the writing thread: counts what was written, of all processes. The same number: nothing has changed. */
uint64_t proc_maps_version(const struct proc_maps *m);
/*
 * Did each of n addresses mean the same at both times: the same place of the same file, the same memory without a
 * file, or nothing that is known? For any thread.
 */
bool proc_maps_same(const struct proc_maps *m, uint32_t pid, uint64_t a_ns, uint64_t b_ns, const uint64_t *addrs,
		    size_t n);
/* For the writing thread: likewise; NULL: none known. Valid until the maps are next written to. */
const struct proc_mapping *proc_maps_find(const struct proc_maps *m, uint32_t pid, uint64_t time_ns, uint64_t addr);
/* When the newest of the mappings that held n addresses at time_ns was made; 0: none is known. For any thread. */
uint64_t proc_maps_newest_ns(const struct proc_maps *m, uint32_t pid, uint64_t time_ns, const uint64_t *addrs, size_t n);
/*
 * A new descriptor for a file that was mapped: of the open one, else by path
 * again if there still is the same file. Not to be asked for a file of another
 * struct proc_maps. For any thread. -ESTALE when another file is there now, -errno.
 */
int proc_file_open(const struct proc_file *f, int *ret);
/*
 * All mappings that held at time_ns, by address: calls f, which must not ask m for anything, for each
 * until it gives non-zero, which is given back. For any thread. -ENOMEM.
 */
int proc_maps_each(const struct proc_maps *m, uint32_t pid, uint64_t time_ns,
		   int (*f)(void *arg, const struct proc_mapping *map), void *arg);
