// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Finds the frames of the functions that led to a call of the library inside the program.
 *
 * The unwinder needs 2 KiB of stack, and more at its first call. A program may have made stacks
 * without that room. So the unwinder runs on a stack of this library. A thread that finds all of
 * these stacks in use stays on its own stack.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <unwind.h>

#include "preload.h"

#define REGISTER_RBP 6 /* the number of rbp in DWARF */
#define STACKS	     4u
#define STACK	     (1u << 17) /* a signal handler may run on it too */

static _Unwind_Reason_Code (*unwind)(_Unwind_Trace_Fn, void *);
static uint64_t (*ip_of)(struct _Unwind_Context *);
static uint64_t (*sp_of)(struct _Unwind_Context *);
static uint64_t (*register_of)(struct _Unwind_Context *, int);

void preload_find_unwinder(void)
{
	void *library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (!library)
		return;
	ip_of = dlsym(library, "_Unwind_GetIP");
	sp_of = dlsym(library, "_Unwind_GetCFA");
	register_of = dlsym(library, "_Unwind_GetGR");
	if (ip_of && sp_of && register_of)
		unwind = dlsym(library, "_Unwind_Backtrace");
}

static struct stack {
	char space[STACK] __attribute__((aligned(16)));
} stacks[STACKS];
static bool in_use[STACKS];

struct walk {
	struct protocol_frame *frame;
	uint64_t stack;
	uint32_t n;
};

static _Unwind_Reason_Code each_frame(struct _Unwind_Context *context, void *arg)
{
	struct walk *w = arg;
	/* While a frame is looked at, its callee's "canonical frame address" is its own rsp. */
	struct protocol_frame found = { ip_of(context), sp_of(context),
					register_of(context, REGISTER_RBP) };

	/* Frames of this library lie below that of the function that the program has called. */
	if (found.sp <= w->stack || found.sp - (uint64_t)(uintptr_t)stacks < sizeof(stacks))
		return _URC_NO_REASON;
	if (!found.pc)
		return _URC_END_OF_STACK;
	w->frame[w->n++] = found;
	return w->n < PROTOCOL_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* on_stack(), which is assembly, calls it too. */
static __attribute__((used, noinline)) void walk_now(struct walk *walk)
{
	unwind(each_frame, walk);
}

/* on_stack - call walk_now() with another stack; the unwinder finds the way back by rbp. */
void on_stack(struct walk *walk, void *top) __attribute__((visibility("hidden")));
__asm__(".text\n"
	".type on_stack, @function\n"
	".hidden on_stack\n"
	"on_stack:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	mov %rsi, %rsp\n"
	"	call walk_now\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size on_stack, . - on_stack\n");

uint32_t preload_frames(struct protocol_frame *frame, const void *stack)
{
	struct walk walk = { frame, (uint64_t)(uintptr_t)stack, 0 };
	uint32_t i = 0;

	if (!unwind)
		return 0;
	while (i < STACKS && __atomic_exchange_n(&in_use[i], true, __ATOMIC_ACQUIRE))
		i++;
	if (i == STACKS) {
		walk_now(&walk);
		return walk.n;
	}
	on_stack(&walk, &stacks[i] + 1);
	__atomic_store_n(&in_use[i], false, __ATOMIC_RELEASE);
	return walk.n;
}
