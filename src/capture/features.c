/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Facts about the running kernel that no test program can tell, read from its
 * BTF: how many arguments a tracepoint has, where per-CPU variables lie.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#include "capture/internal.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct btf *, btf__free)

/*
 * sched_switch(data, preempt, prev, next, prev_state): the last came with 5.18 (fa2c3254d7cf), second at first, then
 * where it is now (9c2136be0878).
 */
static void switch_arguments(const struct btf *btf, struct features *ret)
{
	const struct btf_type *t, *third;
	int id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);

	if (id < 0)
		return;
	t = btf__type_by_id(btf, btf__type_by_id(btf, id)->type); /* typedef -> pointer */
	if (!t || !btf_is_ptr(t))
		return;
	t = btf__type_by_id(btf, t->type);
	if (!t || !btf_is_func_proto(t) || btf_vlen(t) < 5)
		return;
	third = btf__type_by_id(btf, btf_params(t)[2].type);
	ret->switch_has_prev_state = true;
	ret->switch_prev_state_first = third && !btf_is_ptr(third);
}

/* Offset of a variable in the per-CPU section. -ENOENT. */
static int percpu_offset(const struct btf *btf, const char *name, int64_t *ret)
{
	int section = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	int var = btf__find_by_name_kind(btf, name, BTF_KIND_VAR);
	const struct btf_type *t;

	if (section < 0 || var < 0)
		return -ENOENT;
	t = btf__type_by_id(btf, section);
	for (int i = 0; i < btf_vlen(t); i++) {
		const struct btf_var_secinfo *v = btf_var_secinfos(t) + i;

		if (v->type == (uint32_t)var) {
			*ret = v->offset;
			return 0;
		}
	}
	return -ENOENT;
}

/* Byte offset of a member at any depth of anonymous members. -ENOENT. */
static int member_offset(const struct btf *btf, int type, const char *name, int64_t *ret)
{
	const struct btf_type *t = btf__type_by_id(btf, type);

	if (!t || !btf_is_composite(t))
		return -ENOENT;
	for (int i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = btf_members(t) + i;
		const char *member = btf__name_by_offset(btf, m->name_off);
		int64_t inner;

		if (*member && !strcmp(member, name)) {
			*ret = btf_member_bit_offset(t, i) / 8;
			return 0;
		}
		if (!*member && !member_offset(btf, m->type, name, &inner)) {
			*ret = btf_member_bit_offset(t, i) / 8 + inner;
			return 0;
		}
	}
	return -ENOENT;
}

/* See compat_preempt_count() of the programs. */
static int64_t preempt_count_distance(const struct btf *btf)
{
	int64_t rq, count, member;
	int type;

	if (percpu_offset(btf, "runqueues", &rq))
		return 0;
	if (!percpu_offset(btf, "__preempt_count", &count))
		return count - rq;
	type = btf__find_by_name_kind(btf, "pcpu_hot", BTF_KIND_STRUCT);
	if (percpu_offset(btf, "pcpu_hot", &count) || type < 0 || member_offset(btf, type, "preempt_count", &member))
		return 0;
	return count + member - rq;
}

static bool has_enumerator(const struct btf *btf, const char *type, const char *name)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name))
			return true;
	return false;
}

int features_read(struct features *ret)
{
	_cleanup_(btf__freep) struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return errno ? -errno : -ENOENT;
	*ret = (struct features){ 0 };
	switch_arguments(btf, ret);
	ret->preempt_count_distance = preempt_count_distance(btf);
	ret->attach_cookie = has_enumerator(btf, "bpf_func_id", "BPF_FUNC_get_attach_cookie");
	return 0;
}
