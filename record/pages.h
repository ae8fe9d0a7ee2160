/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * pages.h - which pages of the program have been touched. Who touches a page first has it on its
 * node, as it is with Linux's default policy.
 *
 * Concurrency: any thread, once pages_init() has returned.
 */
#ifndef RECORD_PAGES_H
#define RECORD_PAGES_H

#include <stdbool.h>
#include <stdint.h>

int pages_init(void);

/** pages_is_new - Return: true once a page. */
bool pages_is_new(uint64_t place);

#endif
