// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The pages are in a lock-free hash table with open addressing, like the lines in access.c. A
 * compare-and-exchange makes an entry once. The entry identifies the page: the object and page of
 * shared memory, or the image and page of private memory. Its slot in the table is the page's
 * number, so the table translates in both directions.
 *
 * Why private memory belongs to one process: after a fork both sides have the same addresses. In
 * Linux they share each page until the first store to it. Here they have separate pages from the
 * fork on. So the child's first loads do not hit lines that the parent has written.
 *
 * The kernel says what is shared: the device, the inode and the offset of each shared mapping in
 * /proc/self/maps. Anonymous memory, memfd and System V segments have these too. The file is read
 * again after each system call that changes it.
 *
 * If something else is mapped where a file was, memory and code there have another tenant
 * (tenants.c), and get separate pages. In an entry the tenant's number is in the bits above the
 * number of the image or the program.
 */
#include "pages.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "access.h"
#include "memory.h"
#include "shared.h"
#include "tenants.h"

#define PAGE_SHIFT 12
#define PAGE_MASK  ((1ull << PAGE_SHIFT) - 1)
#define TABLE_BITS 22
#define PROBES	   16u
/* Bytes of the table's first page: beyond MOVED of feed_lines.c. */
#define FIRST	0x610000000000ull
#define REGIONS 4096u
/* With more pages, only those with contended lines are named. */
#define NAMED 65536u
/* Fields of an entry: its kind; the image, program or object; the page. */
#define KIND_SHIFT   60
#define ID_SHIFT     36
#define TENANT_SHIFT 14 /* the tenant's number in its image or program */

enum kind { PRIVATE = 1, SHARED, CODE };

uint32_t pages_generation = 1;

struct region {
	uint64_t low, high, first; /* page of the object */
	uint32_t object;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct region region[REGIONS];
static uint32_t nr_regions;
static bool stale;
static uint32_t image, program;
static bool follows;
static uint32_t tenants; /* changes of tenants; used by any thread */

int pages_init(void)
{
	shared->pages = memory.zeroed(sizeof(*shared->pages) << TABLE_BITS);
	return shared->pages ? 0 : -1;
}

/* ---- the table ---- */

/* Return: the first byte of the page with that number, or 0. */
static uint64_t number_of(enum kind kind, uint32_t id, uint64_t page, bool make)
{
	uint64_t key = (uint64_t)kind << KIND_SHIFT | (uint64_t)id << ID_SHIFT | page;
	uint64_t at = key * 0x9e3779b97f4a7c15ull >> (64 - TABLE_BITS);

	for (uint32_t i = 0; i < PROBES; i++) {
		uint64_t n = (at + i) & ((1u << TABLE_BITS) - 1), *slot = &shared->pages[n];
		uint64_t seen = __atomic_load_n(slot, __ATOMIC_RELAXED);

		if (!seen && !make)
			return 0;
		if (!seen)
			__atomic_compare_exchange_n(slot, &seen, key, false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
		if (!seen || seen == key)
			return FIRST + (n << PAGE_SHIFT);
	}
	return 0;
}

/* ---- shared memory ---- */

/* The caller holds the lock. */
static void read_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[4352];

	nr_regions = 0;
	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long low, high, offset, inode;
		unsigned int major, minor;
		char rights[8];

		if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu", &low, &high, rights, &offset,
			   &major, &minor, &inode) != 7 ||
		    rights[3] != 's' || low == (uint64_t)(uintptr_t)shared || nr_regions == REGIONS)
			continue;
		region[nr_regions] = (struct region){
			low,
			high,
			offset >> PAGE_SHIFT,
			shared_object(makedev(major, minor), inode),
		};
		nr_regions += region[nr_regions].object != SHARED_NONE;
	}
	if (file)
		fclose(file);
	stale = false;
}

/* The caller holds the lock. */
static const struct region *region_of(uint64_t address)
{
	if (stale)
		read_maps();
	for (uint32_t i = 0; i < nr_regions; i++)
		if (address >= region[i].low && address < region[i].high)
			return &region[i];
	return NULL;
}

/* The caller holds the lock. */
static uint64_t private_page(uint64_t address, bool make)
{
	uint32_t tenant = tenants_at(address);

	if (!image && !tenant)
		return address & ~PAGE_MASK;
	return number_of(PRIVATE, image | tenant << TENANT_SHIFT, address >> PAGE_SHIFT, make);
}

static uint64_t look_up(uint64_t address, bool make)
{
	const struct region *r;
	uint64_t at;

	pthread_mutex_lock(&lock);
	r = follows ? region_of(address) : NULL;
	if (r)
		at = number_of(SHARED, r->object, r->first + ((address - r->low) >> PAGE_SHIFT),
			       make);
	else
		at = private_page(address, make);
	pthread_mutex_unlock(&lock);
	return at;
}

/* Whether the numbers of addresses are the addresses themselves. */
static bool is_plain(void)
{
	return !follows && !pages_tenants();
}

const struct pages_entry *pages_enter(struct pages_tlb *tlb, uint64_t address, uint32_t cpu)
{
	uint64_t page = address >> PAGE_SHIFT, at = address & ~PAGE_MASK;
	struct pages_entry *entry = &tlb->entry[page % PAGES_TLB];
	uint32_t now = __atomic_load_n(&pages_generation, __ATOMIC_RELAXED);

	if (tlb->generation != now) {
		memset(tlb, 0, sizeof(*tlb));
		tlb->generation = now;
	}
	if (!is_plain())
		at = look_up(address, true);
	if (!at) {
		__atomic_fetch_add(&shared->lost, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	*entry = (struct pages_entry){ .at = at, .lines = access_lines(at, cpu) };
	if (entry->lines)
		entry->page = page + 1;
	return entry;
}

uint64_t pages_find(uint64_t address)
{
	uint64_t at = is_plain() ? address & ~PAGE_MASK : look_up(address, false);

	return at ? at + (address & PAGE_MASK) : 0;
}

uint64_t pages_code(uint64_t pc)
{
	uint64_t at;
	uint32_t id;

	if (is_plain())
		return pc;
	pthread_mutex_lock(&lock);
	id = (follows ? program : 0) | tenants_at(pc) << TENANT_SHIFT;
	at = id ? number_of(CODE, id, pc >> PAGE_SHIFT, true) : 0;
	pthread_mutex_unlock(&lock);
	return at ? at + (pc & PAGE_MASK) : pc;
}

uint32_t pages_tenants(void)
{
	return __atomic_load_n(&tenants, __ATOMIC_RELAXED);
}

uint64_t pages_name(uint64_t address)
{
	uint32_t tenant;

	if (!pages_tenants())
		return address;
	pthread_mutex_lock(&lock);
	tenant = tenants_at(address);
	pthread_mutex_unlock(&lock);
	return PAGES_NAME(address, tenant);
}

/* ---- changes ---- */

void pages_follow(uint32_t new_image, uint32_t new_program)
{
	follows = true;
	image = new_image;
	program = new_program;
	stale = true;
	__atomic_fetch_add(&pages_generation, 1, __ATOMIC_RELAXED);
}

void pages_changed(uint64_t at, uint64_t size, bool is_shared)
{
	if (!follows)
		return;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < nr_regions && !is_shared; i++)
		is_shared = at < region[i].high && at + size > region[i].low;
	if (is_shared) {
		stale = true;
		__atomic_fetch_add(&pages_generation, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lock);
}

void pages_mapped(uint64_t at, uint64_t size, int file, uint64_t offset, bool is_shared)
{
	struct tenants_who who = { .offset = offset };
	struct stat st;

	if (file >= 0) {
		if (fstat(file, &st))
			return;
		who.device = st.st_dev;
		who.inode = st.st_ino;
	}
	if (file >= 0 && !is_shared) {
		who.changed =
			(uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
		who.size = (uint64_t)st.st_size;
	}
	pthread_mutex_lock(&lock);
	if (tenants_mapped(at, size, &who)) {
		__atomic_fetch_add(&tenants, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&pages_generation, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lock);
}

void pages_unmapped(uint64_t at, uint64_t size)
{
	pthread_mutex_lock(&lock);
	tenants_unmapped(at, size);
	pthread_mutex_unlock(&lock);
}

void pages_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void pages_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* ---- translation of numbers ---- */

void pages_regions(json_t *into)
{
	json_t *all = json_array();

	pthread_mutex_lock(&lock);
	if (follows && stale)
		read_maps();
	for (uint32_t i = 0; i < nr_regions; i++) {
		const struct region *r = &region[i];
		uint64_t low = PAGES_NAME(r->low, tenants_at(r->low));

		json_array_append_new(all, json_pack("[I, I, I, i]", (json_int_t)low,
						     (json_int_t)(low + r->high - r->low),
						     (json_int_t)r->first, (int)r->object));
	}
	pthread_mutex_unlock(&lock);
	json_object_set_new(into, "shared", all);
}

void pages_json(json_t *into)
{
	json_t *all = json_array();
	uint64_t used = 0;

	for (uint64_t n = 0; n < 1u << TABLE_BITS; n++)
		used += shared->pages[n] != 0;
	for (uint64_t n = 0; n < 1u << TABLE_BITS; n++) {
		uint64_t key = shared->pages[n], at = FIRST + (n << PAGE_SHIFT);

		if (!key ||
		    (used > NAMED && key >> KIND_SHIFT != CODE && !access_page_contended(at)))
			continue;
		json_array_append_new(all, json_pack("[I, i, i, I]", (json_int_t)at,
						     (int)(key >> KIND_SHIFT),
						     (int)(key >> ID_SHIFT & 0xffffff),
						     (json_int_t)(key & ((1ull << ID_SHIFT) - 1))));
	}
	json_object_set_new(into, "pages", all);
}
