/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * tenants.h - distinguishes what an address contains at different times.
 *
 * If a program unloads a library, another library may get its addresses. So each part of memory has
 * a tenant, which changes when something else is mapped there. The first tenant is number 0.
 *
 * Concurrency: under the caller's lock (pages.c).
 */
#ifndef RECORD_TENANTS_H
#define RECORD_TENANTS_H

#include <stdbool.h>
#include <stdint.h>

#define TENANTS 1023u

/*
 * What is mapped: a file, by @device and @inode, from @offset on; inode 0: memory without a file. A
 * new file may get the inode of a removed one, so @changed, the time of the last write, and @size
 * also identify the file. Both are 0 for a file that the program itself may write.
 */
struct tenants_who {
	uint64_t device, inode, offset, changed, size;
};

/**
 * tenants_mapped - note that memory was mapped. Return: has its tenant changed?
 */
bool tenants_mapped(uint64_t at, uint64_t size, const struct tenants_who *who);

void tenants_unmapped(uint64_t at, uint64_t size);

/** tenants_at - return the tenant of an address; 0 if nothing else was mapped there before. */
uint32_t tenants_at(uint64_t address);

#endif
