/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A choke point was hit: by whom, in which frame, with which values. What that
 * means is userspace's to know. The program neither sleeps nor faults: of a string
 * in memory that is not present it tells where that is, as userspace may have it.
 */
#include "go.bpf.h"
#include "slot.bpf.h"

#define OP_SIZE_FIXED (__builtin_offsetof(struct wcbpf_op, data))

/* The bytes behind a value, up to a multiple of 8, are zero. */
static __always_inline void value_pad(struct wcbpf_value *v)
{
	__u64 *last = (void *)(v + 1) + (v->len & 0x1f8);
	__u32 over = v->len & 7;

	if (over)
		*last &= (1ull << 8 * over) - 1;
}

/* Was no page there, or is that no address of a process at all? */
static __always_inline __u8 error_at(__u64 at)
{
	return at < 4096 || at >> 63 ? WCBPF_VALUE_NOWHERE : WCBPF_VALUE_LOST;
}

/* The n bytes of a value are not readable. */
static __always_inline void value_absent(struct wcbpf_value *v, void *bytes, __u64 at, __u32 n)
{
	struct wcbpf_value_place *place = bytes;

	v->error = error_at(at);
	if (v->error != WCBPF_VALUE_LOST)
		return;
	v->error = WCBPF_VALUE_ABSENT;
	v->len = sizeof(*place);
	place->address = at;
	place->bytes = n;
}

/* Appends a value's bytes from memory: of a string with NUL at most n and up to that, else n. */
static __always_inline void value_copy(struct wcbpf_value *v, void *bytes, __u64 at, __u32 n)
{
	__u8 next;
	long got;

	barrier_var(n); /* or 5.10 does not see at the calls that it is bounded */
	if (n > WCBPF_VALUE_BYTES_MAX)
		return;
	if (v->type == WCBPF_VALUE_STRING) {
		/* the NUL lies in the room behind the value, as does a last byte that is cut off */
		got = bpf_probe_read_user_str(bytes, n + 1, (void *)at);
		if (got < 0) {
			value_absent(v, bytes, at, n);
			return;
		}
		v->len = v->total = got ? got - 1 : 0;
		if (v->len == n && (bpf_probe_read_user(&next, 1, (void *)(at + n)) || next))
			v->total = n + 1;
		return;
	}
	if (bpf_probe_read_user(bytes, n, (void *)at)) {
		value_absent(v, bytes, at, n);
		return;
	}
	v->len = n;
}

/* What a fetch starts from. */
static __always_inline __u64 fetch_start(const struct site_scratch *o, const struct wcbpf_fetch *f)
{
	switch (f->from) {
	case WCBPF_FROM_REG:
		return o->regs[f->reg & 31];
	case WCBPF_FROM_CFA:
		return o->op.cfa + f->at;
	}
	return f->at;
}

static __always_inline __u64 number_extend(__u64 v, __u32 bytes, bool is_signed)
{
	__u32 shift = 64 - 8 * bytes;

	if (bytes >= 8)
		return v;
	return is_signed ? (__u64)((__s64)(v << (shift & 63)) >> (shift & 63)) : v << (shift & 63) >> (shift & 63);
}

/* n > 0 bits of a number, from bit at on. */
static __always_inline __u64 number_bits(__u64 v, __u32 at, __u32 n, bool is_signed)
{
	__u32 up = (64 - at - n) & 63, down = (64 - n) & 63;

	return is_signed ? (__u64)((__s64)(v << up) >> down) : v << up >> down;
}

/* n bytes of a number, at most 8. */
static __always_inline long number_read(__u64 *to, __u64 n, __u64 at)
{
	barrier_var(n); /* as above */
	if (n > sizeof(*to))
		return -1;
	return bpf_probe_read_user(to, n, (void *)at);
}

/* Fills v and the bytes behind it, from address or number `at`. */
static __always_inline void value_fill(struct site_scratch *o, const struct wcbpf_fetch *f, struct wcbpf_value *v, __u64 at)
{
	__u64 pair[2] = { at, o->regs[f->reg2 & 31] };
	__u64 *number = (__u64 *)(v + 1);
	__u32 n = f->bytes;

	if (n > WCBPF_VALUE_BYTES_MAX)
		n = WCBPF_VALUE_BYTES_MAX;
	switch (f->type) {
	case WCBPF_VALUE_UINT:
	case WCBPF_VALUE_INT:
		if (f->memory && number_read(&pair[0], n, at + f->last)) {
			v->error = error_at(at + f->last);
			return;
		}
		*number = f->bit_n ? number_bits(pair[0], f->bit_at, f->bit_n, f->type == WCBPF_VALUE_INT)
				   : number_extend(pair[0], n, f->type == WCBPF_VALUE_INT);
		v->len = v->total = 8;
		return;
	case WCBPF_VALUE_GO_STRING:
		if (f->memory && (bpf_probe_read_user(pair, sizeof(pair), (void *)(at + f->last)) ||
				  (f->length_at && bpf_probe_read_user(&pair[1], sizeof(pair[1]),
								       (void *)(at + f->last + 8 * f->length_at))))) {
			v->error = error_at(at + f->last);
			return;
		}
		v->total = pair[1] > 0xffffffffu ? 0xffffffffu : pair[1];
		if (n > v->total)
			n = v->total;
		if (n)
			value_copy(v, number, pair[0], n);
		return;
	case WCBPF_VALUE_STRING:
	case WCBPF_VALUE_BYTES:
		v->total = n;
		if (n)
			value_copy(v, number, at + (f->memory ? f->last : 0), n);
	}
}

/* Appends the i-th value of a site. A function of its own for each call: see stack.bpf.h. */
__noinline int site_fetch(__u32 slot, __u32 site_number, __u32 i)
{
	struct site_scratch *o = bpf_map_lookup_elem(&site_scratches, &slot);
	struct wcbpf_site *site = bpf_map_lookup_elem(&sites, &site_number);
	const struct wcbpf_fetch *f;
	struct wcbpf_value *v;
	__u64 at, word;
	__u32 len;

	if (!o || !site)
		return 0;
	len = o->len;
	if (len > WCBPF_OP_DATA_MAX - 8 - WCBPF_VALUE_BYTES_MAX)
		return 0;
	f = &site->fetch[i & (WCBPF_FETCHES_MAX - 1)];
	v = (void *)(o->op.data + (len & DATA_MASK));
	*v = (struct wcbpf_value){ .type = f->type, .error = f->from == WCBPF_FROM_NONE ? WCBPF_VALUE_NOWHERE : 0 };
	at = fetch_start(o, f);
	for (int d = 0; d < WCBPF_DEREFS_MAX; d++) {
		if (d >= f->deref_n || v->error)
			break;
		word = at + f->deref[d];
		if (bpf_probe_read_user(&at, sizeof(at), (void *)word)) {
			v->error = error_at(word);
			break;
		}
	}
	if (!v->error)
		value_fill(o, f, v, at);
	value_pad(v);
	o->len = len + sizeof(*v) + ((v->len + 7) & ~7u);
	return 0;
}

/*
 * While one link replaces another, a hit runs two programs: first that of the newer, which leaves the hit to the other
 * as long as the site's generation is the older one's. If it changes in between, that one still counts.
 */
static __always_inline bool is_twin(struct thread *t, const struct wcbpf_site *site, __u32 site_number, __u32 generation)
{
	__s32 ahead = generation - site->generation;
	bool left = t->twin == site_number;

	t->twin = ahead > 0 ? site_number : 0;
	return ahead > 0 || (ahead < 0 && !left);
}

/* The hit goes to userspace. */
static __always_inline void op_emit(const struct regs *r, struct thread *t, const struct wcbpf_site *site,
				    __u32 site_number, __u64 now, const bool atomic)
{
	int slot = slot_claim(atomic);
	__u32 key = slot, len;
	struct site_scratch *o = slot < 0 ? NULL : bpf_map_lookup_elem(&site_scratches, &key);
	const struct wcbpf_go_layout *l;
	void *ring = ring_of_cpu();
	bool sent = false;

	if (site->point)
		count(WCBPF_CNT_OPS);
	if (o && ring) {
		regs_dwarf(r, o->regs);
		o->op.goid = o->op.stack_hi = 0;
		l = go_layout(site);
		if (l && go_current(l, REGS_GO_G(r), &o->op.goid, &o->op.stack_hi) && !l->unfollowed && !rt.go_off)
			t->goid = o->op.goid;
		o->op.cfa = o->regs[site->cfa_reg & 31] + (__s64)site->cfa_off;
		o->op.ustack_id = site->flags & WCBPF_SITE_STACK ? site_stack(slot, r, t, now) : 0;
		o->op.tid = t->tid;
		o->op.tgid = t->tgid;
		o->op.point = site->point;
		o->op.kind = site->kind;
		o->op.value_n = site->fetch_n;
		o->len = 0;
		for (__u32 i = 0; i < WCBPF_FETCHES_MAX; i++) {
			if (i >= site->fetch_n)
				break;
			site_fetch(slot, site_number, i);
		}
		len = o->len;
		if (len <= WCBPF_OP_DATA_MAX) {
			o->op.data_len = len;
			head_fill(&o->op.head, WCBPF_EV_OP, OP_SIZE_FIXED + len, now);
			sent = !bpf_ringbuf_output(ring, &o->op, OP_SIZE_FIXED + len, ring_flags(ring));
		}
	}
	slot_release(slot, atomic);
	if (!sent && site->point)
		count(WCBPF_CNT_LOST_OPS);
}

static __always_inline void hit_count(const struct wcbpf_site *site, bool traced)
{
	__u32 point = site->point;
	struct wcbpf_hits *h = bpf_map_lookup_elem(&hits, &point);

	if (!h)
		return;
	if (!traced)
		h->other_n++;
	else if (site->kind == WCBPF_SITE_EXIT)
		h->exit_n++;
	else
		h->entry_n++;
	if (site->flags & WCBPF_SITE_STEPPED)
		h->stepped_n++;
}

static __always_inline void go_emit(const struct regs *r, struct thread *t, const struct wcbpf_site *site, __u32 site_number,
				    __u64 now, const bool atomic)
{
	int slot;

	t->park_ustack_id = 0;
	if (site->flags & WCBPF_SITE_STACK && go_takes_stack(site->kind, REGS_GO_ARG(r, 1), REGS_GO_ARG(r, 2))) {
		slot = slot_claim(atomic);
		t->park_ustack_id = site_stack(slot, r, t, now);
		slot_release(slot, atomic);
	}
	go_site(site_number, REGS_GO_G(r), REGS_GO_ARG(r, 0), REGS_GO_ARG(r, 1), REGS_GO_ARG(r, 2));
}

static __always_inline void on_site(const struct regs *r, __u32 site_number, __u32 generation, const bool cookies,
				    const bool atomic)
{
	struct wcbpf_site *site = bpf_map_lookup_elem(&sites, &site_number);
	__u64 now = bpf_ktime_get_ns();
	struct thread *t;

	if (!site || !site->kind || (rt.on != WCBPF_ON && !rt.probing_tid))
		return;
	t = site_thread(now);
	if (t && cookies && is_twin(t, site, site_number, generation))
		return;
	if (site->flags & WCBPF_SITE_IF && !regs_meet(r, site->condition)) {
		hit_count(site, NULL); /* it has cost as much */
		return;
	}
	hit_count(site, t);
	if (!t)
		return;
	if (site->kind >= WCBPF_SITE_GO_PARK)
		go_emit(r, t, site, site_number, now, atomic);
	else
		op_emit(r, t, site, site_number, now, atomic);
}
