/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Kernel frames, those of modules too, are relative to the kernel's _text: the
 * same in every boot, and small enough for readers that know floating point
 * numbers only. A module has no address to be relative to: its sections are
 * scattered.
 */
#include <stdio.h>
#include <string.h>

#include "sym/state.h"
#include "sym/sym.h"

static bool starts_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* What lies between the traced event and the tracer, and the tracer itself. */
static bool is_tracers_own(const struct ksym *k)
{
	static const char *const prefixes[] = {
		"bpf_prog_", "__bpf_prog_", "bpf_trampoline", "bpf_dispatcher_", "bpf_trace_run", "__bpf_trace_",
		"__traceiter_", "trace_call_bpf", "perf_syscall_enter", "perf_syscall_exit", "perf_trace_run_bpf_",
	};

	if (k->bpf)
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (starts_with(k->name, prefixes[i]))
			return true;
	/* bpf_get_stack, __bpf_get_stackid, bpf_get_task_stack, ____bpf_get_stack_raw_tp ... */
	return starts_with(k->name + strspn(k->name, "_"), "bpf_get_") && strstr(k->name, "stack");
}

static const char *module_name(struct sym *s, const char *module)
{
	char text[64];

	if (!*module)
		return "[kernel]";
	snprintf(text, sizeof(text), "[%.60s]", module);
	return sym_keep(s, text);
}

void sym_kernel(struct sym *s, uint64_t addr, struct sym_frame *ret)
{
	struct answer *a = map_get_ptr(s->kernel, addr);
	struct ksym k;

	uint64_t text = s->ksyms ? ksyms_text(s->ksyms) : 0;

	*ret = (struct sym_frame){ .module = "[kernel]", .build_id = "", .address = addr };
	if (text && addr >= text) {
		ret->address = addr - text;
		ret->bias = text;
	}
	if (!a) {
		a = sym_answer_add(s->kernel, addr);
		if (!a)
			return;
		a->module = "[kernel]";
		if (s->ksyms && !ksyms_lookup(s->ksyms, addr, &k)) {
			const char *module = module_name(s, k.module);

			a->own.name = sym_keep(s, k.name);
			a->module = module ? module : "[kernel]";
			a->own.start = k.start;
			a->hidden = is_tracers_own(&k);
		}
	}
	ret->name = a->own.name;
	ret->module = a->module;
	ret->offset = a->own.name ? (uint32_t)(addr - a->own.start) : 0;
	ret->hidden = a->hidden;
}
