// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why the count of blocks is exact: control enters a block at its first instruction only and,
 * except for exceptions, leaves it at its last. A call, a return and a jump end a block. So control
 * enters a function, by a call or a jump, at a block's beginning, and leaves it at a block's end.
 *
 * Functions that a counted function calls count for it, until it returns. So does an interrupt, if
 * interrupts are on. If the compiler turned a last call into a jump, the function ends at the jump.
 *
 * The counter can miss the end of a call (a switch to a task that never called, a return by an
 * exception). It drops such a call when a frame below it ends or when the function is entered
 * again: no counted function calls itself.
 */
#include "counts.h"

#include <string.h>

#include "insn.h"

void counts_begin(struct block *b, const struct watch *w, uint64_t pc)
{
	memset(b, 0, sizeof(*b));
	b->entry = pc;
	b->enters = b->leaves = NO_FUNCTION;
	for (uint32_t i = 0; i < w->nr_parts; i++)
		if (w->part[i].entry == pc)
			b->enters = w->part[i].function;
}

void counts_add(struct block *b, const struct watch *w, const struct insn *insn, uint64_t pc)
{
	b->instr++;
	b->locked += insn->locked;
	for (uint32_t i = 0; i < w->nr_parts; i++) {
		const struct watch_part *part = &w->part[i];

		if (pc < part->range.low || pc >= part->range.high)
			continue;
		if (insn->ret ||
		    (insn->jump && !watch_in_function(w, part->function, insn->target)))
			b->leaves = part->function;
	}
}

void counts_before(struct vcpu *v, const struct block *b)
{
	if (b->enters == NO_FUNCTION)
		return;
	/* None of the functions calls itself: if it is entered again, it has ended. */
	for (uint32_t i = 0; i < v->depth; i++)
		if (v->frame[i].entry == b->entry)
			v->depth = i;
	if (v->depth == VCPU_DEPTH)
		v->depth = 0;
	v->frame[v->depth++] = (struct vcpu_frame){ b->enters, b->entry, v->instr, v->locked };
}

static void leave(struct vcpu *v, uint32_t function)
{
	struct vcpu_count *count = &v->count[function];
	uint32_t at = v->depth;

	while (at && v->frame[at - 1].function != function)
		at--;
	if (!at)
		return; /* the call began before the window */
	v->depth = at - 1;
	for (at = v->depth; at; at--)
		if (v->frame[at - 1].function == function)
			return; /* the outer call counts these instructions */
	count->instr += v->instr - v->frame[v->depth].instr;
	count->locked += v->locked - v->frame[v->depth].locked;
	count->calls++;
}

void counts_after(struct vcpu *v, const struct block *b)
{
	if (b->leaves != NO_FUNCTION)
		leave(v, b->leaves);
}

json_t *counts_json(void)
{
	json_t *all = json_array();

	for (uint32_t f = 0; f < plugin.watch.nr_functions; f++) {
		struct vcpu_count sum = { 0 };

		for (uint32_t i = 0; i < plugin.nr_vcpus; i++) {
			const struct vcpu_count *count = &plugin.vcpu[i].count[f];

			sum.calls += count->calls;
			sum.instr += count->instr;
			sum.locked += count->locked;
		}
		json_array_append_new(
			all, json_pack("{s:s, s:I, s:I, s:I}", "name", plugin.watch.function[f],
				       "calls", (json_int_t)sum.calls, "instructions",
				       (json_int_t)sum.instr, "locked", (json_int_t)sum.locked));
	}
	return all;
}
