/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * unseen.h - code without hooks that may wait for another thread: locked instructions in assembly,
 * and libraries without instrumentation. After such code, all earlier accesses of all threads count
 * as ordered before. The C and C++ libraries are exempt: they wait by calls that this library
 * replaces.
 */
#ifndef EXACT_UNSEEN_H
#define EXACT_UNSEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "exact.h"

/* Does the calling thread execute such code? Then its accesses say nothing about races. */
extern _Thread_local uint32_t unseen_now HIDDEN __attribute__((tls_model("initial-exec")));

/** unseen_except - the module that is loaded at @base was instrumented. */
void unseen_except(uint64_t base);

/** unseen_block - a block begins. @has: it contains such code */
void unseen_block(bool has);

/** unseen_hooked - is the code at @pc instrumented? */
bool unseen_hooked(const void *pc);

/** unseen_system - is the code at @pc the C library's, or this one's? */
bool unseen_system(uint64_t pc);

/* How many functions such code has called that have not returned. */
extern _Thread_local uint32_t unseen_calls HIDDEN __attribute__((tls_model("initial-exec")));

/**
 * unseen_caller, unseen_left - a function begins that the code at @pc called; one returns
 * @frame: of the hook
 */
void unseen_caller(const void *pc, const void *frame);
void unseen_left(const void *frame);

#endif
