// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The functions that wait for a call of the library inside the program: what unwinding says. */
#include <dlfcn.h>
#include <stddef.h>
#include <unwind.h>

#include "preload.h"

#define REGISTER_RBP 6 /* as DWARF counts them */

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
	if (found.sp <= w->stack)
		return _URC_NO_REASON;
	if (!found.pc)
		return _URC_END_OF_STACK;
	w->frame[w->n++] = found;
	return w->n < PROTOCOL_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

uint32_t preload_frames(struct protocol_frame *frame, const void *stack)
{
	struct walk walk = { frame, (uint64_t)(uintptr_t)stack, 0 };

	if (unwind)
		unwind(each_frame, &walk);
	return walk.n;
}
