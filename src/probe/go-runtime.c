/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What happens to goroutines happens in a few functions of the runtime, in all
 * versions. Who is woken is told either by the one that changes a goroutine's
 * status (cheap from 1.26 on, before all system calls pass it) or by ready; but
 * for what a file woke, which netpollready knows.
 */
#include <errno.h>
#include <string.h>

#include "probe/plan.h"

enum { RAX = 0, RCX = 2, RBX = 3, R14 = 14 };

static const struct choke {
	enum wcbpf_site_kind kind;
	const char *symbol;
	uint32_t needs;
	bool by_status, not_by_status; /* only then */
} chokes[] = {
	{WCBPF_SITE_GO_PARK, "runtime.gopark", OBJFILE_NEEDS(R14) | OBJFILE_NEEDS(RCX) | OBJFILE_NEEDS(RBX)},
	{WCBPF_SITE_GO_READY, "runtime.ready", OBJFILE_NEEDS(R14) | OBJFILE_NEEDS(RAX), .not_by_status = true},
	{WCBPF_SITE_GO_STATUS, "runtime.casgstatus",
	 OBJFILE_NEEDS(R14) | OBJFILE_NEEDS(RAX) | OBJFILE_NEEDS(RBX) | OBJFILE_NEEDS(RCX), .by_status = true},
	{WCBPF_SITE_GO_EXECUTE, "runtime.execute", OBJFILE_NEEDS(RAX)},
	{WCBPF_SITE_GO_BORN, "runtime.newproc1", 0},
	{WCBPF_SITE_GO_DEATH, "runtime.gdestroy", OBJFILE_NEEDS(RAX)},
	{WCBPF_SITE_GO_NETREADY, "runtime.netpollready", OBJFILE_NEEDS(R14) | OBJFILE_NEEDS(RBX) | OBJFILE_NEEDS(RCX)},
};

static int site_add(struct planning *p, const struct choke *c, const char *symbol, uint64_t function,
		    const struct objfile_spot *at)
{
	struct probe_site s = {.vaddr = at->vaddr,
			       .point = PROBE_NO_POINT,
			       .symbol = symbol,
			       .function = function,
			       .step = at->step,
			       .repeats = at->repeats,
			       .condition = plan_entry_condition(at)};

	s.go = true;
	s.wire.kind = (uint8_t)c->kind;
	s.wire.cfa_reg = at->cfa_reg;
	s.wire.cfa_off = at->cfa_off;
	memcpy(s.text, at->text, sizeof(s.text));
	s.text[sizeof(s.text) - 1] = 0;
	return plan_add_site(p, &s);
}

/* 1: told what is missing. 0, -ENOMEM. */
static int choke_plan(struct planning *p, const struct objfile_go_runtime *rt, const struct choke *c)
{
	uint64_t vaddr = rt->points[c->kind - WCBPF_SITE_GO_PARK];
	_cleanup_(objfile_scan_done) struct objfile_scan scan = {0};
	struct objfile_go_function fn;
	struct objfile_why why = {0};
	const char *name;
	int r;

	if (!vaddr || objfile_go_function(p->file.o->go, vaddr, &fn) < 0)
		return plan_note(p, PROBE_CAVEAT, NULL, c->symbol, "it isn't there: goroutines can't be followed") < 0
			       ? -ENOMEM
			       : 1;
	name = pool_string(p->plan->pool, fn.name);
	if (!name)
		return -ENOMEM;
	r = objfile_code_scan(p->file.code, fn.start, fn.end - fn.start, c->needs, &scan, &why);
	if (r == 0 && c->kind == WCBPF_SITE_GO_BORN && !scan.exit_n)
		r = -ENOTSUP;
	if (r < 0 && r != -ENOMEM)
		return plan_note(p, PROBE_CAVEAT, NULL, name, "it can't be probed, so goroutines can't be followed: %s",
				 why.text[0] ? why.text : "its exits can't be found") < 0
			       ? -ENOMEM
			       : 1;
	if (c->kind != WCBPF_SITE_GO_BORN)
		return r < 0 ? r : site_add(p, c, name, fn.start, &scan.entry);
	for (size_t i = 0; r == 0 && i < scan.exit_n; i++)
		r = site_add(p, c, name, fn.start, &scan.exits[i].at);
	return r;
}

static int reasons_keep(struct planning *p, const struct objfile_go_runtime *rt)
{
	struct probe_plan *plan = p->plan;

	plan->go_reasons = pool_alloc(plan->pool, rt->reason_n * sizeof(*plan->go_reasons));
	if (!plan->go_reasons)
		return -ENOMEM;
	for (size_t i = 0; rt->reasons && i < rt->reason_n; i++) {
		plan->go_reasons[i] = pool_string(plan->pool, rt->reasons[i]);
		if (!plan->go_reasons[i])
			return -ENOMEM;
		plan->go_reason_n = i + 1;
	}
	return 0;
}

static int refusal_set(struct planning *p, const char *why)
{
	p->go_why = pool_string(p->plan->pool, why);
	p->go_refusal = pool_printf(p->plan->pool, "which goroutine calls it can't be known: %s", why);
	return p->go_why && p->go_refusal ? 0 : -ENOMEM;
}

int go_runtime_learn(struct planning *p)
{
	const struct probe_object *o = p->file.o;
	struct objfile_why why = {0};
	int r;

	if (o->go_why)
		return refusal_set(p, o->go_why);
	if (!o->go || (probe_set_is_empty(p->set) && !probe_set_wants_go(p->set)))
		return 0;
	r = objfile_go_runtime(o->file, o->go, &p->go_runtime, &why);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || !file_code(&p->file))
		return refusal_set(p, why.text[0] ? why.text : "code of this machine can't be read");
	p->plan->layout = p->go_runtime.layout;
	p->plan->layout.unfollowed = 1;
	p->plan->has_layout = true;
	return 0;
}

/* Those that are parked when it is attached to. */
static int list_learn(struct planning *p)
{
	const struct probe_object *o = p->file.o;
	struct objfile_why why = {0};
	int r = objfile_go_list(o->file, o->go, &p->go_runtime, &p->plan->go_list, &why);

	if (r == 0 || r == -ENOMEM)
		return r;
	p->plan->go_list_why = pool_string(p->plan->pool, why.text[0] ? why.text : "its code can't be read");
	return p->plan->go_list_why ? 0 : -ENOMEM;
}

static int unfollowed_note(struct planning *p)
{
	for (size_t i = 0; i < p->plan->site_n; i++)
		if (p->plan->sites[i].go)
			return plan_note(p, PROBE_NOTE, NULL, p->file.o->path,
					 "its runtime is not probed, as asked for: which goroutine makes a call is known, "
					 "but not which one began it, nor what it waits for");
	return 0;
}

static int chokes_plan(struct planning *p)
{
	size_t before = p->plan->site_n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(chokes) / sizeof(*chokes); i++) {
		const struct choke *c = &chokes[i];
		bool by_status = p->plan->layout.wakes_by_status;

		if ((c->by_status && !by_status) || (c->not_by_status && by_status))
			continue;
		r = choke_plan(p, &p->go_runtime, c);
	}
	/* Half of them would tell half-truths. */
	if (r == 1)
		p->plan->site_n = before;
	return r;
}

int go_runtime_plan(struct planning *p)
{
	enum probe_go_wakes how = p->file.o->go_wakes;
	int r;

	if (p->file.o->go_why)
		return plan_note(p, PROBE_CAVEAT, NULL, p->file.o->path, "its Go functions can't be probed: %s", p->go_why);
	if (!probe_set_wants_go(p->set))
		return unfollowed_note(p);
	if (p->go_why)
		return plan_note(p, PROBE_CAVEAT, NULL, p->file.o->path, "goroutines can't be followed: %s", p->go_why);
	if (!p->plan->has_layout)
		return 0;
	if (how != PROBE_GO_WAKES_CHEAPEST)
		p->plan->layout.wakes_by_status = how == PROBE_GO_WAKES_BY_STATUS;
	r = chokes_plan(p);
	if (r >= 0 && (reasons_keep(p, &p->go_runtime) < 0 || list_learn(p) < 0))
		r = -ENOMEM;
	p->plan->follows_go = r == 0;
	p->plan->layout.unfollowed = r != 0;
	return r < 0 ? r : 0;
}
