/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Kernel frames from a made-up kallsyms. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sym/sym.h"

static struct proc_maps *maps;
static struct ksyms *ksyms;
static struct sym *sym;

static void setup(void)
{
	char path[] = "/tmp/wcbpf-ksyms-XXXXXX";
	int fd = mkstemp(path);

	dprintf(fd, "ffffffff81000000 T _text\n"
		    "ffffffff81001000 T schedule\n"
		    "ffffffff81002000 T bpf_trace_run4\n"
		    "ffffffff81003000 T __traceiter_sched_switch\n"
		    "ffffffff81004000 t __bpf_trace_sched_switch\n"
		    "ffffffff81005000 T bpf_get_stackid\n"
		    "ffffffff81006000 t __bpf_get_stack\n"
		    "ffffffff81007000 T bpf_get_task_stack\n"
		    "ffffffff81008000 T __bpf_prog_enter\n"
		    "ffffffff81009000 T bpf_get_numa_node_id\n"
		    "ffffffff8100a000 T bpf_map_update_elem\n"
		    "ffffffff8100a800 t perf_syscall_exit\n"
		    "ffffffff8100a900 T trace_call_bpf\n"
		    "ffffffff8100b000 T _etext\n"
		    "ffffffffc0001000 t nf_hook\t[nf_tables]\n"
		    "ffffffffc0005000 t bpf_prog_0123456789abcdef_on_switch\t[bpf]\n"
		    "ffffffffc0006000 t bpf_trampoline_6442\t[bpf]\n"
		    "ffffffffc0007000 t odd\t[bpf]\n");
	close(fd);
	cr_assert_eq(ksyms_new(path, &ksyms), 0);
	unlink(path);
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(sym_new(maps, ksyms, &sym), 0);
}

static void teardown(void)
{
	sym_free(sym);
	ksyms_free(ksyms);
	proc_maps_free(maps);
}

TestSuite(kernel, .init = setup, .fini = teardown);

Test(kernel, frames)
{
	static const struct {
		uint64_t addr;
		const char *name, *module;
		uint32_t offset;
		bool hidden;
	} want[] = {
		{ 0xffffffff81001010, "schedule", "[kernel]", 0x10, false },
		{ 0xffffffff81002001, "bpf_trace_run4", "[kernel]", 1, true },
		{ 0xffffffff81003002, "__traceiter_sched_switch", "[kernel]", 2, true },
		{ 0xffffffff81004000, "__bpf_trace_sched_switch", "[kernel]", 0, true },
		{ 0xffffffff81005fff, "bpf_get_stackid", "[kernel]", 0xfff, true },
		{ 0xffffffff81006001, "__bpf_get_stack", "[kernel]", 1, true },
		{ 0xffffffff81007001, "bpf_get_task_stack", "[kernel]", 1, true },
		{ 0xffffffff81008001, "__bpf_prog_enter", "[kernel]", 1, true },
		{ 0xffffffff81009001, "bpf_get_numa_node_id", "[kernel]", 1, false },
		{ 0xffffffff8100a001, "bpf_map_update_elem", "[kernel]", 1, false },
		{ 0xffffffff8100a801, "perf_syscall_exit", "[kernel]", 1, true },
		{ 0xffffffff8100a901, "trace_call_bpf", "[kernel]", 1, true },
		{ 0xffffffff8100b001, NULL, "[kernel]", 0, false },
		{ 0xffffffffc0001100, "nf_hook", "[nf_tables]", 0x100, false },
		{ 0xffffffffc0005100, "bpf_prog_0123456789abcdef_on_switch", "[bpf]", 0x100, true },
		{ 0xffffffffc0006100, "bpf_trampoline_6442", "[bpf]", 0x100, true },
		{ 0xffffffffc0007100, "odd", "[bpf]", 0x100, true },
	};

	/* Twice: the second answer comes from the cache. */
	for (size_t i = 0; i < 2 * sizeof(want) / sizeof(*want); i++) {
		size_t w = i % (sizeof(want) / sizeof(*want));
		struct sym_frame f;

		sym_kernel(sym, want[w].addr, &f);
		cr_assert_eq(!f.name, !want[w].name, "%zu", w);
		if (f.name)
			cr_assert_str_eq(f.name, want[w].name);
		cr_assert_str_eq(f.module, want[w].module);
		cr_assert_str_eq(f.build_id, "");
		cr_assert_eq(f.offset, want[w].offset);
		cr_assert_eq(f.hidden, want[w].hidden, "%s", f.name);
		cr_assert_eq(f.address + f.bias, want[w].addr);
		cr_assert_lt(f.address, 1ull << 32, "relative to _text");
	}
}

Test(kernel, without_symbols)
{
	struct sym *none;
	struct sym_frame f;

	cr_assert_eq(sym_new(maps, NULL, &none), 0);
	sym_kernel(none, 0xffffffff81001010, &f);
	cr_assert_null(f.name);
	cr_assert_str_eq(f.module, "[kernel]");
	cr_assert_eq(f.address, 0xffffffff81001010);
	cr_assert_not(f.hidden);
	sym_free(none);
}
