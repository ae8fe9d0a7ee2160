/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * masks.h - each thread's signal mask, the signals that it was sent, and the handlers.
 *
 * These functions are used only while the kernel dispatches system calls (dispatch.c). Otherwise
 * the kernel's mask is the only one.
 */
#ifndef EXACT_MASKS_H
#define EXACT_MASKS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "exact.h"

#define MASKS_SIGNALS 65 /* one more than the last signal */

/*
 * The kernel's struct sigaction. The C library's sigaction() is not used, because the system call
 * of its restorer would be dispatched.
 */
struct masks_action {
	void (*handler)(int which, siginfo_t *info, void *context);
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

static inline uint64_t masks_bit(int which)
{
	return 1ull << (which - 1);
}

/**
 * masks_begin - keep a mask per thread from now on. @restorer: ends a handler by a call that is not
 * dispatched
 */
void masks_begin(void *restorer);

/** masks_on - is there a mask per thread? */
bool masks_on(void);

/** masks_thread - give a new thread the mask of its creator, or @asked. */
void masks_thread(struct thread *t, const sigset_t *asked);

/**
 * masks_gone - the thread has ended: drop the signals sent to it, and give those of the process to
 * another thread.
 */
void masks_gone(struct thread *t);

/** masks_set - as rt_sigprocmask() of the caller. May switch fibers. Return: 0 or an error. */
int masks_set(int how, const uint64_t *asked, uint64_t *before);

/** masks_action - as rt_sigaction(). Return: 0 or an error. */
int masks_action(int which, const struct masks_action *asked, struct masks_action *before);

/**
 * masks_swap - set the mask with which the calling thread waits. May switch fibers.
 * @mask: NULL: keep the thread's mask
 * @before: receives the thread's mask, for masks_back()
 *
 * Return: the mask to pass to the kernel.
 */
const sigset_t *masks_swap(const sigset_t *mask, uint64_t *before);

/**
 * masks_back - give the thread the mask @before again, which masks_swap() returned
 * @mask: as passed to masks_swap(). May switch fibers.
 */
void masks_back(const sigset_t *mask, uint64_t before);

/** masks_send - signal @t, NULL: the process. May switch fibers. Return: 0 or an error. */
int masks_send(struct thread *t, const siginfo_t *info);

/**
 * masks_expired - send a timer's signal to @to, or to the process if NULL, at time @at
 *
 * A timer signal that has not been handled counts later ones of the same timer as overruns.
 * Switches no fiber.
 *
 * Return: that count.
 */
int masks_expired(struct thread *to, const siginfo_t *info, uint64_t at);

/** masks_forget - drop the signals that timer @id sent. */
void masks_forget(int id);

/** masks_take - take a signal of @set that the caller was sent. Return: false if there is none. */
bool masks_take(uint64_t set, siginfo_t *info);

/** masks_sent - was the caller sent one of @set? */
bool masks_sent(uint64_t set);

/**
 * masks_block - block these signals in the kernel from now on, whatever the program's masks say.
 */
void masks_block(uint64_t set);

/** masks_pending - signals pending for the calling thread. @kernel: those pending in the kernel */
uint64_t masks_pending(uint64_t kernel);

/** masks_handled - does the program handle a signal that may come from outside? */
bool masks_handled(void);

/**
 * masks_await - no thread can run: wait for a signal, at most a minute of the host's time
 * @look: has something else happened that lets a thread run? NULL: nothing can
 *
 * Return: false if nothing came, or if nothing can come.
 */
bool masks_await(bool (*look)(void));

/** masks_frame - make a handler of this library return with the kernel's current mask. */
void masks_frame(void *context);

/**
 * masks_keep - keep this library's handler of a signal. It passes other signals to masks_fault().
 */
void masks_keep(int which);

/** masks_fault - do what the kernel would do with a signal of masks_keep(). */
void masks_fault(int which, siginfo_t *info, void *context);

/** masks_hold - around fork(): block all signals in the kernel, or unblock them again. */
void masks_hold(bool hold);

/** masks_end - in a child, or at the end: give the program's masks and handlers to the kernel. */
void masks_end(void);

#endif
