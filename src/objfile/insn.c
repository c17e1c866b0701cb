/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What the kernel can probe and what it emulates is its own choice:
 * arch/x86/kernel/uprobes.c, is_prefix_bad() and good_insns_64 for the one,
 * push_setup_xol_ops() and branch_setup_xol_ops() for the other, as they are
 * from Linux 5.x to 6.18. It goes by bytes, so it is asked by bytes here too.
 */
#include "objfile/insn.h"

#include <errno.h>
#include <string.h>

#include "objfile/x86-registers.h"

static void classify(struct insn_full *i)
{
	const ZydisDecodedOperand *first = &i->operands[0];
	bool direct = i->raw.operand_count && first->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && first->imm.is_relative;
	struct insn *brief = &i->brief;
	ZyanU64 target = 0;

	if (direct)
		ZydisCalcAbsoluteAddress(&i->raw, first, brief->vaddr, &target);
	brief->condition = OBJFILE_ALWAYS;
	switch (i->raw.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		brief->flow = FLOW_CALL;
		break;
	case ZYDIS_CATEGORY_RET:
		brief->flow = FLOW_RETURN;
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		brief->flow = direct ? FLOW_JUMP : FLOW_INDIRECT;
		break;
	case ZYDIS_CATEGORY_COND_BR:
		brief->flow = FLOW_BRANCH;
		if (i->raw.opcode_map == ZYDIS_OPCODE_MAP_0F || (i->raw.opcode & 0xf0) == 0x70)
			brief->condition = i->raw.opcode & 0xf;
		break;
	default:
		brief->flow = FLOW_NEXT;
	}
	switch (i->raw.mnemonic) {
	case ZYDIS_MNEMONIC_UD0: case ZYDIS_MNEMONIC_UD1: case ZYDIS_MNEMONIC_UD2: case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3:
		brief->flow = FLOW_END;
		break;
	case ZYDIS_MNEMONIC_XBEGIN: /* its address is where an abort goes on */
		brief->flow = FLOW_BRANCH;
		break;
	case ZYDIS_MNEMONIC_XABORT: case ZYDIS_MNEMONIC_XEND: /* to there, or on */
		brief->flow = FLOW_NEXT;
		break;
	default:
		break;
	}
	brief->target = target;
	brief->filler = i->raw.mnemonic == ZYDIS_MNEMONIC_NOP ||
			(i->raw.length == 2 && !i->bytes[0] && !i->bytes[1]);
}

int insn_decode(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_full *ret)
{
	ZydisDecoder decoder;

	ret->bytes = bytes;
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &ret->raw, ret->operands)))
		return -EBADMSG;
	ret->brief = (struct insn){ .vaddr = vaddr, .len = ret->raw.length };
	for (size_t i = 0; i < ret->raw.raw.prefix_count && ret->raw.raw.prefixes[i].value != 0x0f; i++)
		ret->brief.prefix_n++;
	classify(ret);
	return 0;
}

bool insn_register(ZydisRegister r, uint8_t *ret)
{
	static const uint8_t numbers[] = { X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP, X86_RSI, X86_RDI,
					   X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15 };
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return false;
	*ret = numbers[whole - ZYDIS_REGISTER_RAX];
	return true;
}

uint32_t insn_writes(const struct insn_full *i)
{
	uint32_t written = 0;

	if (i->brief.flow == FLOW_CALL || i->raw.mnemonic == ZYDIS_MNEMONIC_SYSCALL)
		return UINT32_MAX;
	for (size_t k = 0; k < i->raw.operand_count; k++) {
		const ZydisDecodedOperand *o = &i->operands[k];
		uint8_t number;

		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    insn_register(o->reg.value, &number))
			written |= 1u << number;
	}
	return written;
}

bool insn_stack_delta(const struct insn_full *i, int32_t *ret)
{
	bool pushes = i->raw.meta.category == ZYDIS_CATEGORY_PUSH, pops = i->raw.meta.category == ZYDIS_CATEGORY_POP;
	bool adds = i->raw.mnemonic == ZYDIS_MNEMONIC_ADD, subs = i->raw.mnemonic == ZYDIS_MNEMONIC_SUB;

	*ret = 0;
	if (i->brief.flow == FLOW_CALL || !(insn_writes(i) & 1u << X86_RSP))
		return true;
	if ((adds || subs) && i->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    i->operands[1].imm.value.s > INT16_MIN * 4096ll && i->operands[1].imm.value.s < INT16_MAX * 4096ll) {
		*ret = (int32_t)(subs ? i->operands[1].imm.value.s : -i->operands[1].imm.value.s);
		return true;
	}
	/* Not pop %rsp. */
	if ((pushes || pops) && i->raw.operand_width == 64 &&
	    (pushes || i->operands[0].reg.value != ZYDIS_REGISTER_RSP)) {
		*ret = pushes ? 8 : -8;
		return true;
	}
	return false;
}

bool insn_is_endbr64(const struct insn_full *i)
{
	return i->raw.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
}

bool insn_can_be_probed(const struct insn_full *i)
{
	switch (i->raw.mnemonic) {
	case ZYDIS_MNEMONIC_INT: case ZYDIS_MNEMONIC_INT1: case ZYDIS_MNEMONIC_INT3: case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_SYSCALL: case ZYDIS_MNEMONIC_SYSENTER: case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_IRET: case ZYDIS_MNEMONIC_IRETD: case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_UD0: case ZYDIS_MNEMONIC_UD1: case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_IN: case ZYDIS_MNEMONIC_OUT: case ZYDIS_MNEMONIC_LOOP: case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE: case ZYDIS_MNEMONIC_JRCXZ: case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_XBEGIN: case ZYDIS_MNEMONIC_XABORT:
		return false;
	default:
		break;
	}
	for (size_t k = 0; k < i->raw.raw.prefix_count; k++) {
		switch (i->raw.raw.prefixes[k].value) {
		case 0x26: case 0x2e: case 0x36: case 0x3e: case 0xf0:
			return false;
		}
	}
	return true;
}

static bool is_push(const struct insn_full *i)
{
	const uint8_t *p = i->bytes;

	if (i->raw.length == 2 && p[0] == 0x41)
		p++;
	else if (i->raw.length != 1)
		return false;
	return *p >= 0x50 && *p <= 0x57;
}

static bool is_relative(const struct insn_full *i)
{
	uint8_t opcode = i->raw.opcode;

	for (size_t k = 0; k < i->raw.raw.prefix_count; k++) {
		if (i->raw.raw.prefixes[k].value == 0x66)
			return false;
	}
	if (i->raw.opcode_map == ZYDIS_OPCODE_MAP_0F)
		return opcode >= 0x80 && opcode <= 0x8f;
	return i->raw.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
	       ((opcode >= 0x70 && opcode <= 0x7f) || opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb);
}

/* The kernel's own nops (P6 ones), by length. */
static bool is_kernel_nop(const struct insn_full *i)
{
	static const char *const nops[] = {
		"\x66\x90", "\x0f\x1f\x00", "\x0f\x1f\x40\x00", "\x0f\x1f\x44\x00\x00", "\x66\x0f\x1f\x44\x00\x00",
		"\x0f\x1f\x80\x00\x00\x00\x00", "\x0f\x1f\x84\x00\x00\x00\x00\x00",
	};
	size_t n = i->raw.length;

	return n >= 2 && n - 2 < sizeof(nops) / sizeof(*nops) && !memcmp(i->bytes, nops[n - 2], n);
}

enum objfile_step insn_step(const struct insn_full *i)
{
	if (is_push(i) || is_relative(i) || (i->raw.length == 1 && i->bytes[0] == 0x90))
		return OBJFILE_STEP_EMULATED;
	return is_kernel_nop(i) ? OBJFILE_STEP_NOP : OBJFILE_STEP_SINGLE;
}

void insn_text(const struct insn_full *i, char *ret, size_t n)
{
	ZydisFormatter formatter;

	if (!ZYAN_SUCCESS(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT)) ||
	    !ZYAN_SUCCESS(ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE)) ||
	    !ZYAN_SUCCESS(ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
						    ZYDIS_PADDING_DISABLED)) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &i->raw, i->operands, i->raw.operand_count_visible,
							  ret, n, i->brief.vaddr, NULL)))
		ret[0] = '\0';
}
