// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why no disassembler is needed: the prefixes and the first opcode byte determine all properties
 * but two, which also need ModRM. Prefixes come in any order, a REX prefix last; a byte that is not
 * a prefix is the opcode. The code never reads beyond the end of a truncated instruction.
 */
#include "insn.h"

#include <string.h>

static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66:
	case 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return true;
	}
	return false;
}

static int32_t displacement(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static void look_at_jump(struct insn *insn, const uint8_t *code, size_t size, uint64_t pc,
			 size_t at)
{
	if (code[at] == 0xeb && at + 1 < size) {
		insn->jump = true;
		insn->target = pc + size + (uint64_t)(int8_t)code[at + 1];
	} else if (code[at] == 0xe9 && at + 4 < size) {
		insn->jump = true;
		insn->target = pc + size + (uint64_t)displacement(&code[at + 1]);
	}
}

static enum insn_mark look_for_mark(const uint8_t *code, size_t size)
{
	uint32_t value;

	/* 0f 1f /0, ModRM 80: four bytes of displacement from rax. */
	if (size != 7 || code[0] != 0x0f || code[1] != 0x1f || code[2] != 0x80)
		return MARK_NONE;
	value = (uint32_t)displacement(&code[3]) ^ INSN_MARK;
	return value <= MARK_LAST ? (enum insn_mark)value : MARK_NONE;
}

void insn_look(struct insn *insn, const uint8_t *code, size_t size, uint64_t pc)
{
	size_t at = 0;

	memset(insn, 0, sizeof(*insn));
	insn->mark = look_for_mark(code, size);
	while (at < size && is_prefix(code[at]))
		insn->locked |= code[at++] == 0xf0;
	if (at < size && code[at] >> 4 == 4)
		at++; /* REX */
	if (at >= size)
		return;
	switch (code[at]) {
	case 0x86: /* xchg, with ModRM */
	case 0x87:
		insn->locked |= at + 1 < size && code[at + 1] >> 6 != 3;
		break;
	case 0xc2:
	case 0xc3:
		insn->ret = true;
		insn->stack = true;
		break;
	case 0x68: /* push */
	case 0x6a:
	case 0x9c:
	case 0x9d:
	case 0xc9:
		insn->stack = true;
		break;
	case 0xe8:
		insn->call = true;
		insn->stack = true;
		break;
	case 0xff: /* /2 calls the address in a register or in memory */
		insn->call = at + 1 < size && (code[at + 1] >> 3 & 7) == 2;
		break;
	case 0xe9:
	case 0xeb:
		look_at_jump(insn, code, size, pc, at);
		break;
	default:
		insn->stack = code[at] >> 4 == 5;
		break;
	}
}
