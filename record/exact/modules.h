/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* modules.h - tells whether code is instrumented, the C library's, or this library's. */
#ifndef EXACT_MODULES_H
#define EXACT_MODULES_H

#include <stdbool.h>
#include <stdint.h>

/** modules_instrumented - the module that is loaded at @base was instrumented. */
void modules_instrumented(uint64_t base);

/** modules_hooked - is the code at @pc instrumented? */
bool modules_hooked(const void *pc);

/** modules_system - is the code at @pc the C library's, or this library's? */
bool modules_system(uint64_t pc);

#endif
