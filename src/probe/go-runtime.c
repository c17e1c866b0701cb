/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What happens to goroutines happens in a few functions of the runtime, in all
 * versions. Who is woken is told either by the one that changes a goroutine's
 * status (cheap from 1.26 on, before all system calls pass it) or by two others.
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
	{WCBPF_SITE_GO_NETREADY, "runtime.netpollready", OBJFILE_NEEDS(R14) | OBJFILE_NEEDS(RBX) | OBJFILE_NEEDS(RCX),
	 .not_by_status = true},
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

int go_runtime_plan(struct planning *p)
{
	struct objfile_go_runtime rt = {0};
	struct objfile_why why = {0};
	size_t before = p->plan->site_n;
	int r = objfile_go_runtime(p->file.o->file, p->file.o->go, &rt, &why);

	if (r == -ENOMEM)
		return r;
	if (r < 0 || !file_code(&p->file)) {
		if (r == 0)
			objfile_go_runtime_done(&rt);
		return plan_note(p, PROBE_CAVEAT, NULL, p->file.o->path, "goroutines can't be followed: %s",
				 why.text[0] ? why.text : "code of this machine can't be read");
	}
	for (size_t i = 0; r == 0 && i < sizeof(chokes) / sizeof(*chokes); i++) {
		const struct choke *c = &chokes[i];

		if ((c->by_status && !rt.layout.wakes_by_status) || (c->not_by_status && rt.layout.wakes_by_status))
			continue;
		r = choke_plan(p, &rt, c);
	}
	p->plan->layout = rt.layout;
	if (r >= 0 && reasons_keep(p, &rt) < 0)
		r = -ENOMEM;
	objfile_go_runtime_done(&rt);
	/* Half of them would tell half-truths. */
	if (r == 1)
		p->plan->site_n = before;
	p->plan->has_layout = r == 0;
	return r < 0 ? r : 0;
}
