/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * masks.h - each thread's mask of signals, what it was sent, and the handlers.
 *
 * Only while the kernel tells of system calls (dispatch.c). Otherwise the host's mask is the only
 * one.
 */
#ifndef EXACT_MASKS_H
#define EXACT_MASKS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "exact.h"

#define MASKS_SIGNALS 65 /* one more than the last */

/* As the kernel has it: the C library's sigaction() has a way back that is a system call. */
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

/** masks_begin - from now on. @restorer: the end of a handler that is no system call. */
void masks_begin(void *restorer);

/** masks_on - are there masks of threads? */
bool masks_on(void);

/** masks_thread - a new thread has the mask of the one that creates it, or @asked. */
void masks_thread(struct thread *t, const sigset_t *asked);

/**
 * masks_gone - the thread has ended. Signals of the process that it was to handle go to another
 * thread; its own are dropped.
 */
void masks_gone(struct thread *t);

/** masks_set - as rt_sigprocmask(), of the calling thread. May switch. Return: 0 or an error. */
int masks_set(int how, const uint64_t *asked, uint64_t *before);

/** masks_action - as rt_sigaction(). Return: 0 or an error. */
int masks_action(int which, const struct masks_action *asked, struct masks_action *before);

/**
 * masks_swap - the calling thread waits with another mask; NULL: with its own. May switch.
 *
 * Return: what the kernel is to be told.
 */
const sigset_t *masks_swap(const sigset_t *mask, uint64_t *before);

/** masks_back - and has its own again. May switch. */
void masks_back(const sigset_t *mask, uint64_t before);

/** masks_send - @t was sent a signal; NULL: the process. May switch. Return: 0 or an error. */
int masks_send(struct thread *t, const siginfo_t *info);

/**
 * masks_expired - a timer's signal for @to, NULL: the process, at @at; switches no fiber
 *
 * One that has not been handled counts those that come after it. Return: that count.
 */
int masks_expired(struct thread *to, const siginfo_t *info, uint64_t at);

/** masks_forget - what timer @id sent is gone. */
void masks_forget(int id);

/** masks_take - one of @set that the caller was sent. Return: false: none. */
bool masks_take(uint64_t set, siginfo_t *info);

/** masks_sent - was the caller sent one of @set? */
bool masks_sent(uint64_t set);

/** masks_block - from now on the kernel keeps these, whatever the program's masks say. */
void masks_block(uint64_t set);

/** masks_pending - what the calling thread was sent and blocks. @kernel: what the kernel has */
uint64_t masks_pending(uint64_t kernel);

/** masks_handled - has the program a handler that somebody else can call? */
bool masks_handled(void);

/**
 * masks_await - no thread can run: wait for a signal
 * @look: whether something else has come; NULL: nothing can
 *
 * Return: false: none came, or none can.
 */
bool masks_await(bool (*look)(void));

/** masks_frame - a handler of this library returns with the mask that is right by then. */
void masks_frame(void *context);

/** masks_keep - a signal whose handler is this library's: it calls masks_fault() for the others. */
void masks_keep(int which);

/** masks_fault - what the kernel would do with a signal of masks_keep(). */
void masks_fault(int which, siginfo_t *info, void *context);

/** masks_hold - around fork(): the kernel keeps what comes, or delivers it again. */
void masks_hold(bool hold);

/** masks_end - in a child, or at the end: signals are the kernel's alone, as the program asked. */
void masks_end(void);

#endif
