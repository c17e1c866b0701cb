/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * What a waited-for file descriptor is, read from the task's file table while
 * it waits; userspace names it later. All reads are fallible probe reads: the
 * table may change under us (other threads open and close files).
 */
#include "compat.bpf.h"
#include "stack.bpf.h"

#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFIFO 0010000
#define SOCK_STREAM 1
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10

static __always_inline struct file *file_of_fd(struct task_struct *task, __u32 fd, const bool btf)
{
	struct fdtable *fdt;
	struct file **table, *file = NULL;

	if (btf) {
		fdt = task->files->fdt;
		if (fd >= fdt->max_fds)
			return NULL;
		table = fdt->fd;
	} else {
		fdt = BPF_CORE_READ(task, files, fdt);
		if (!fdt || fd >= BPF_CORE_READ(fdt, max_fds))
			return NULL;
		table = BPF_CORE_READ(fdt, fd);
	}
	if (bpf_probe_read_kernel(&file, sizeof(file), &table[fd]))
		return NULL;
	return file;
}

static __always_inline void socket_read(struct wcbpf_resource *r, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	r->kind = WCBPF_RES_SOCKET;
	r->type = BPF_CORE_READ(socket, type);
	if (!sk)
		return;
	r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	r->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (r->family == AF_INET || r->family == AF_INET6) {
		r->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
		r->remote_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	}
	if (r->family == AF_INET) {
		BPF_CORE_READ_INTO((__u32 *)r->local_addr, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)r->remote_addr, sk, __sk_common.skc_daddr);
	} else if (r->family == AF_INET6) {
		BPF_CORE_READ_INTO((struct in6_addr *)r->local_addr, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO((struct in6_addr *)r->remote_addr, sk, __sk_common.skc_v6_daddr);
	} else if (r->family == AF_UNIX) {
		struct unix_address *addr = BPF_CORE_READ((struct unix_sock *)sk, addr);
		struct sock *peer = BPF_CORE_READ((struct unix_sock *)sk, peer);

		if (!addr && peer) /* a client: the server's side has the name */
			addr = BPF_CORE_READ((struct unix_sock *)peer, addr);
		if (addr && BPF_CORE_READ(addr, len) > 2) {
			bpf_probe_read_kernel(r->name, sizeof(r->name) - 1, addr->name[0].sun_path);
			if (!r->name[0])
				r->name[0] = '@';
			if (BPF_CORE_READ(addr, len) - 2u < sizeof(r->name) - 1)
				r->name[(BPF_CORE_READ(addr, len) - 2u) & (sizeof(r->name) - 1)] = 0;
		}
	}
}

static __always_inline bool fop_is_anonymous(__u64 fop, __u8 *ret)
{
	for (int i = 1; i < WCBPF_FOPS_MAX; i++) {
		if (rt.fops[i] && rt.fops[i] == fop) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static __always_inline __u64 resource_hash(const struct wcbpf_resource *r)
{
	const __u64 *local = (const __u64 *)r->local_addr, *remote = (const __u64 *)r->remote_addr;
	__u64 h = hash_word(hash_word((__u64)r->kind << 32 | r->dev, r->ino), r->generation);

	if (r->kind == WCBPF_RES_SOCKET) {
		h = hash_word(h, (__u64)r->local_port << 16 | r->remote_port);
		h = hash_word(h, local[0] ^ local[1] << 1);
		return hash_word(h, remote[0] ^ remote[1] << 1);
	}
	if (r->kind == WCBPF_RES_ANON)
		return hash_word(hash_word(hash_word(h, r->file), r->private_data), (__u64)r->tgid << 8 | r->fop_kind);
	return h;
}

/* All about a file; its id is in r. */
static __always_inline void resource_read(struct wcbpf_resource *r, __u32 tgid, struct file *file, struct inode *inode,
					  __u64 ino)
{
	__builtin_memset(r, 0, sizeof(*r));
	r->ino = ino;
	r->tgid = tgid;
	r->generation = BPF_CORE_READ(inode, i_generation);
	r->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	r->mode = BPF_CORE_READ(inode, i_mode);
	r->kind = WCBPF_RES_FILE;
	if ((r->mode & S_IFMT) == S_IFSOCK) {
		socket_read(r, file);
	} else if ((r->mode & S_IFMT) != S_IFIFO) {
		r->rdev = BPF_CORE_READ(inode, i_rdev);
		/* Files without a type of their own share one inode: the operations tell, the address is the identity. */
		if (fop_is_anonymous((__u64)BPF_CORE_READ(file, f_op), &r->fop_kind) || !(r->mode & S_IFMT)) {
			r->kind = WCBPF_RES_ANON;
			r->file = (__u64)file;
			r->private_data = (__u64)BPF_CORE_READ(file, private_data);
		}
	}
	r->id = resource_hash(r) | 1;
}

/*
 * What fd is; sends its body if it is new. Its id; 0: no such file. A thread
 * that waits on the same file again is not read again: the same struct file,
 * inode, inode number and generation, private data and operations are the same
 * file, if it is no socket that may have another peer by now.
 */
static __always_inline __u64 resource_of_fd(struct wcbpf_resource *r, struct thread *t, struct task_struct *task, __u32 fd,
					    __u64 now, const bool btf)
{
	struct file *file = file_of_fd(task, fd, btf);
	struct inode *inode;
	__u64 ino, private;
	__u32 generation;

	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	ino = BPF_CORE_READ(inode, i_ino);
	generation = BPF_CORE_READ(inode, i_generation);
	private = (__u64)BPF_CORE_READ(file, private_data) ^ (__u64)BPF_CORE_READ(file, f_op);
	if (t->resource_file == (__u64)file && t->resource_inode == (__u64)inode && t->resource_ino == ino &&
	    t->resource_generation == generation && t->resource_private == private)
		return t->resource_last;
	resource_read(r, t->tgid, file, inode, ino);
	r->fd = fd;
	if (r->kind == WCBPF_RES_FILE)
		bpf_probe_read_kernel_str(r->name, sizeof(r->name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	head_fill(&r->head, WCBPF_EV_RESOURCE, sizeof(*r), now);
	body_send(r, r->id, &t->resource_sent, sizeof(*r), WCBPF_CNT_LOST_RESOURCE_BODY, true);
	if (t->resource_sent == r->id && (r->kind != WCBPF_RES_SOCKET || (r->remote_port && r->type == SOCK_STREAM))) {
		t->resource_file = (__u64)file;
		t->resource_inode = (__u64)inode;
		t->resource_ino = ino;
		t->resource_generation = generation;
		t->resource_private = private;
		t->resource_last = r->id;
	}
	return r->id;
}
