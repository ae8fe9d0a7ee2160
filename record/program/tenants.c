// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Keeps a table of the parts of memory in which files are or were mapped, and of what replaced
 * them. The parts do not overlap. An unmapped part stays in the table and is marked as gone, so
 * what is mapped there later gets another tenant.
 *
 * The loader first maps a whole library. Then it maps parts of the same file over the library; they
 * keep the tenant. Memory without a file gets a new tenant where a file was unmapped. Over a file
 * that is still mapped, memory without a file extends the file's data and keeps its tenant. A file
 * that returns to its old place gets its old tenant.
 *
 * A program may map files for ever. Beyond the maximum, later parts and tenants share the last one.
 */
#include "tenants.h"

#include <stddef.h>

#define PARTS 1024u
#define PAGE  4096u
#define NAMELESS \
	512u /* tenants without a file: memory of any size, mapped for as long as it runs */

struct part {
	uint64_t low, high;
	uint64_t device, inode, changed, size; /* identify the file */
	uint64_t begin;			       /* where the file's first byte would be */
	uint32_t tenant;
	bool gone;
};

static struct part part[PARTS];
static uint32_t nr_parts;
/* Every file and place for which a tenant was made, whatever lies there now. */
static struct part known[PARTS];
static uint32_t nr_known;
static uint32_t last, nr_nameless;
static uint64_t lowest = UINT64_MAX, highest; /* bounds of all parts of later tenants */

/* Return the end of a mapping: the kernel maps whole pages. */
static uint64_t end_of(uint64_t at, uint64_t size)
{
	return (at + size + PAGE - 1) / PAGE * PAGE;
}

static bool meets(const struct part *p, uint64_t low, uint64_t high)
{
	return p->low < high && low < p->high;
}

static void add(uint64_t low, uint64_t high, const struct part *like)
{
	if (low >= high || nr_parts == PARTS)
		return;
	part[nr_parts] = *like;
	part[nr_parts].low = low;
	part[nr_parts++].high = high;
}

/* Cut a range out of all parts. If @stays, the pieces in the range stay in the table, as gone. */
static void cut(uint64_t low, uint64_t high, bool stays)
{
	uint32_t n = nr_parts;

	for (uint32_t i = 0; i < n;) {
		struct part p = part[i];

		if (!meets(&p, low, high)) {
			i++;
			continue;
		}
		part[i] = part[--n];
		part[n] = part[--nr_parts];
		add(p.low, low < p.low ? p.low : low, &p);
		add(high > p.high ? p.high : high, p.high, &p);
		if (!stays)
			continue;
		p.gone = true;
		add(p.low > low ? p.low : low, p.high < high ? p.high : high, &p);
	}
}

static bool is_file(const struct part *p, const struct part *file)
{
	return p->device == file->device && p->inode == file->inode &&
	       p->changed == file->changed && p->size == file->size &&
	       (!p->gone || p->begin == file->begin);
}

/* Return the part that contains the whole range of @new and has the same file, or NULL. */
static const struct part *owner(const struct part *new)
{
	for (uint32_t i = 0; i < nr_parts; i++)
		if (part[i].low <= new->low &&new->high <= part[i].high)
			return is_file(&part[i], new) ? &part[i] : NULL;
	return NULL;
}

static const struct part *remembered(const struct part *new)
{
	for (uint32_t i = 0; i < nr_known; i++)
		if (known[i].begin == new->begin && is_file(&known[i], new))
			return &known[i];
	return NULL;
}

/* Does a range contain a part (@any), a mapped one (@live)? @tenant: the last part's tenant. */
struct found {
	bool any, live;
	uint32_t tenant;
};

static struct found look(uint64_t low, uint64_t high)
{
	struct found f = { 0 };

	for (uint32_t i = 0; i < nr_parts; i++) {
		if (!meets(&part[i], low, high))
			continue;
		f.any = true;
		f.live |= !part[i].gone;
		f.tenant = part[i].tenant;
	}
	return f;
}

/* Return the number of a new tenant, or @before if there are too many. */
static uint32_t new_tenant(bool is_nameless, uint32_t before)
{
	if (last == TENANTS || (is_nameless && nr_nameless == NAMELESS))
		return before;
	nr_nameless += is_nameless;
	return ++last;
}

bool tenants_mapped(uint64_t at, uint64_t size, const struct tenants_who *who)
{
	struct part new = { .low = at, .high = end_of(at, size) };
	struct found there = look(new.low, new.high);
	const struct part *old, *before;

	if (!who->inode && (!there.any || there.live))
		return false;
	new.device = who->device;
	new.inode = who->inode;
	new.changed = who->changed;
	new.size = who->size;
	new.begin = who->inode ? at - who->offset : 0;
	old = owner(&new);
	before = old || !who->inode ? NULL : remembered(&new);
	if (old) {
		new.begin = old->begin;
		new.tenant = old->tenant;
	} else if (before) {
		new.tenant = before->tenant;
	} else {
		if (there.any)
			new.tenant = new_tenant(!who->inode, there.tenant);
		if (who->inode && nr_known < PARTS)
			known[nr_known++] = new;
	}
	cut(new.low, new.high, false);
	add(new.low, new.high, &new);
	if (new.tenant) {
		lowest = new.low < lowest ? new.low : lowest;
		highest = new.high > highest ? new.high : highest;
	}
	return there.any && !old;
}

void tenants_unmapped(uint64_t at, uint64_t size)
{
	if (at % PAGE || !size)
		return; /* the kernel refuses it */
	cut(at, end_of(at, size), true);
}

uint32_t tenants_at(uint64_t address)
{
	if (address < lowest || address >= highest)
		return 0;
	for (uint32_t i = 0; i < nr_parts; i++)
		if (part[i].low <= address && address < part[i].high)
			return part[i].tenant;
	return 0;
}
