// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Implements pthread_exit(). The C library's function would end the real thread that simulates. So
 * this library unwinds the thread's stack itself. C++ destructors and cleanup attributes run. So do
 * the handlers of pthread_cleanup_push() in C, which the C library's macros register here. Then the
 * thread continues in thread_main() as if its function had returned.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>
#include <unwind.h>

#include "ends.h"
#include "real.h"

static _Unwind_Reason_Code step(int version, _Unwind_Action actions, _Unwind_Exception_Class type,
				struct _Unwind_Exception *exception,
				struct _Unwind_Context *context, void *arg)
{
	struct thread *t = arg;

	if (actions & _UA_END_OF_STACK || _Unwind_GetCFA(context) >= (uintptr_t)t->top)
		longjmp(*t->end, 1);
	return _URC_NO_REASON;
}

static _Noreturn void unwind(struct thread *t)
{
	static _Thread_local struct _Unwind_Exception exception;
	__pthread_unwind_buf_t *handler = t->handlers;
	void *to;

	if (handler) {
		t->handlers = handler->__pad[0];
		to = handler->__cancel_jmp_buf;
		/*
		 * The buffer has no room for a signal mask, which was not saved. Hide that from the
		 * compiler.
		 */
		__asm__("" : "+r"(to));
		longjmp(to, 1);
	}
	if (t->end)
		_Unwind_ForcedUnwind(&exception, step, t);
	exit(0);
}

void ends_now(struct thread *t, void *result)
{
	t->result = result;
	if (!t->number)
		threads_first_ends();
	unwind(t);
}

API _Noreturn void pthread_exit(void *result)
{
	if (!exact_on()) {
		REAL(pthread_exit)(result);
		__builtin_unreachable();
	}
	ends_now(exact_self, result);
}

API void __pthread_register_cancel(__pthread_unwind_buf_t *handler)
{
	if (!exact_on()) {
		REAL(__pthread_register_cancel)(handler);
		return;
	}
	handler->__pad[0] = exact_self->handlers;
	exact_self->handlers = handler;
}

API void __pthread_unregister_cancel(__pthread_unwind_buf_t *handler)
{
	if (exact_on())
		exact_self->handlers = handler->__pad[0];
	else
		REAL(__pthread_unregister_cancel)(handler);
}

API _Noreturn void __pthread_unwind_next(__pthread_unwind_buf_t *handler)
{
	if (!exact_on()) {
		REAL(__pthread_unwind_next)(handler);
		__builtin_unreachable();
	}
	unwind(exact_self);
}
