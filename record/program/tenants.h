/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * tenants.h - what lies at an address, if something else lay there before.
 *
 * A program closes a library, and another one gets its addresses. Their bytes and instructions are
 * not the same. So each part of memory has a tenant, and the first one has number 0.
 *
 * Concurrency: under the caller's lock (pages.c).
 */
#ifndef RECORD_TENANTS_H
#define RECORD_TENANTS_H

#include <stdbool.h>
#include <stdint.h>

#define TENANTS 1023u

/*
 * Who maps: the file of these, from that offset on; inode 0: memory without a file. A new file may
 * get the inode of one that was removed. So @changed, when it was written, and @size say which it
 * is; 0 where the program itself may write it.
 */
struct tenants_who {
	uint64_t device, inode, offset, changed, size;
};

/**
 * tenants_mapped - memory is mapped. Return: it has another tenant than before.
 */
bool tenants_mapped(uint64_t at, uint64_t size, const struct tenants_who *who);

void tenants_unmapped(uint64_t at, uint64_t size);

/** tenants_at - the tenant of an address; the first one before any other came. */
uint32_t tenants_at(uint64_t address);

#endif
