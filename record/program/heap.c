// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Keeps the program's allocations, and where in the code each was made.
 *
 * A program allocates millions of objects, of which a few are contended. The table of lines
 * (access.c) knows which lines are contended. So a freed object is kept only if one of its lines is
 * contended. At the end the same applies to objects that are still allocated. The library inside
 * the program numbers the places that allocate.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "pages.h"
#include "protocol.h"
#include "user.h"

#define KEPT 65536u /* freed objects */
/* Pages of one object that are looked at: when it is freed, and once more at the end. */
#define PAGES_FREED (1u << 16)
#define PAGES_LIVE  (1u << 22)
#define LINE	    64u
#define PAGE_LINES  (PAGES_SIZE / LINE)
/*
 * The library inside the program uses numbers of places below this, and this file those from it on.
 */
#define AGAIN	   65536u
#define MOST_AGAIN 65536u

struct object {
	uint64_t at, size;			   /* at 0: a free slot */
	uint32_t site, element, alignment, tenant; /* tenant of the memory: tenants.h */
};

/*
 * An allocating place. @frame: its return addresses, as names (pages.h). @now: what renamed()
 * returned for this place, when there had been @tenants changes of tenants. @next: the next
 * place with the same return addresses in other code, or 0
 */
struct site {
	uint64_t frame[PROTOCOL_FRAMES];
	uint32_t n, tenants, now, next;
	uint64_t objects, bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *live; /* open addressing */
static uint64_t mask, nr_live;
static struct object *kept;
static uint32_t nr_kept;
static uint64_t dropped;
static struct site *sites, *again; /* again: other code at the return addresses of a site */
static uint32_t nr_sites, nr_again;

static uint64_t hash(uint64_t at)
{
	return (at >> 4) * 0x9e3779b97f4a7c15ull >> 20;
}

static uint64_t find(uint64_t at)
{
	uint64_t i = hash(at) & mask;

	while (live[i].at && live[i].at != at)
		i = (i + 1) & mask;
	return i;
}

static bool grow(void)
{
	uint64_t n = live ? 2 * (mask + 1) : 4096;
	struct object *old = live, *new = calloc(n, sizeof(*new));
	uint64_t old_n = live ? mask + 1 : 0;

	if (!new)
		return false;
	live = new;
	mask = n - 1;
	for (uint64_t i = 0; i < old_n; i++)
		if (old[i].at)
			live[find(old[i].at)] = old[i];
	free(old);
	return true;
}

/* Free an entry. Entries after it that a search would no longer find move up. */
static void take_out(uint64_t i)
{
	uint64_t k = i;

	for (;;) {
		uint64_t home;

		k = (k + 1) & mask;
		if (!live[k].at)
			break;
		home = hash(live[k].at) & mask;
		if (((k - home) & mask) < ((k - i) & mask))
			continue;
		live[i] = live[k];
		i = k;
	}
	live[i].at = 0;
	nr_live--;
}

static bool is_contended(const struct object *o, uint64_t pages)
{
	uint64_t first = o->at / LINE, last = (o->at + (o->size ? o->size - 1 : 0)) / LINE, lines;

	for (uint64_t line = first; line <= last && line - first < pages * PAGE_LINES;
	     line += lines) {
		uint64_t at = pages_find(line * LINE);
		bool whole = line % PAGE_LINES == 0 && last - line >= PAGE_LINES - 1;

		lines = whole ? PAGE_LINES : 1;
		if (whole ? access_page_contended(at) : access_contended(at / LINE))
			return true;
	}
	return false;
}

static void retire(const struct object *o)
{
	if (!is_contended(o, PAGES_FREED))
		return;
	if (!kept)
		kept = malloc(KEPT * sizeof(*kept));
	if (!kept || nr_kept == KEPT)
		dropped++;
	else
		kept[nr_kept++] = *o;
}

void heap_site(uint64_t number, const uint64_t *frame, uint32_t n)
{
	struct site *s;

	pthread_mutex_lock(&lock);
	if (number < AGAIN && number >= nr_sites) {
		uint32_t grown = (uint32_t)number + 64;

		s = realloc(sites, grown * sizeof(*sites));
		if (!s) {
			pthread_mutex_unlock(&lock);
			return;
		}
		sites = s;
		memset(sites + nr_sites, 0, (grown - nr_sites) * sizeof(*sites));
		nr_sites = grown;
	}
	if (number < nr_sites) {
		s = &sites[number];
		s->n = n < PROTOCOL_FRAMES ? n : PROTOCOL_FRAMES;
		s->tenants = pages_tenants();
		s->now = (uint32_t)number;
		s->next = 0;
		for (uint32_t i = 0; i < s->n; i++)
			s->frame[i] = pages_name(frame[i]);
	}
	pthread_mutex_unlock(&lock);
}

static struct site *site_of(uint32_t number)
{
	return number < AGAIN ? &sites[number] : &again[number - AGAIN];
}

/*
 * Return the number of the place with the return addresses of place @number and the code that is
 * there now: itself, an earlier one, or a new one. If there are too many places, return that of the
 * last one with these addresses.
 */
static uint32_t renamed(uint32_t number)
{
	struct site now = { .n = sites[number].n };
	struct site *grown;
	uint32_t last = number;

	for (uint32_t i = 0; i < now.n; i++)
		now.frame[i] = pages_name(PAGES_ADDRESS(sites[number].frame[i]));
	for (uint32_t k = number;; k = site_of(k)->next) {
		if (!memcmp(now.frame, site_of(k)->frame, sizeof(now.frame)))
			return k;
		last = k;
		if (!site_of(k)->next)
			break;
	}
	if (nr_again == MOST_AGAIN)
		return last;
	grown = realloc(again, (nr_again + 1) * sizeof(*again));
	if (!grown)
		return last;
	again = grown;
	again[nr_again] = now;
	site_of(last)->next = AGAIN + nr_again;
	return AGAIN + nr_again++;
}

/* Return the number of the place that the library's @number means now. */
static uint32_t site_now(uint32_t number)
{
	struct site *s = &sites[number];

	if (s->tenants != pages_tenants()) {
		s->tenants = pages_tenants();
		s->now = renamed(number);
	}
	return s->now;
}

void heap_alloc(uint64_t at, uint64_t size, uint64_t site, uint64_t element, uint64_t alignment)
{
	uint64_t i;

	pthread_mutex_lock(&lock);
	if ((live && 2 * nr_live < mask) || grow()) {
		i = find(at);
		if (!live[i].at)
			nr_live++;
		if (site < nr_sites) {
			site = site_now((uint32_t)site);
			site_of((uint32_t)site)->objects++;
			site_of((uint32_t)site)->bytes += size;
		}
		live[i] = (struct object){ at,
					   size,
					   (uint32_t)site,
					   (uint32_t)element,
					   (uint32_t)alignment,
					   PAGES_TENANT(pages_name(at)) };
	}
	pthread_mutex_unlock(&lock);
}

void heap_free(uint64_t at)
{
	pthread_mutex_lock(&lock);
	if (live) {
		uint64_t i = find(at);

		if (live[i].at) {
			retire(&live[i]);
			take_out(i);
		}
	}
	pthread_mutex_unlock(&lock);
}

static json_t *object_json(const struct object *o, bool freed)
{
	uint64_t at = PAGES_NAME(o->at, o->tenant);

	return json_pack("[I, I, I, I, b, I]", (json_int_t)at, (json_int_t)o->size,
			 (json_int_t)o->site, (json_int_t)o->element, (int)freed,
			 (json_int_t)o->alignment);
}

void heap_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void heap_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void add_site(json_t *places, uint32_t number, const struct site *s)
{
	json_t *frames = s->n ? json_array() : NULL;

	if (!frames)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		json_array_append_new(frames, json_integer((json_int_t)s->frame[i]));
	json_array_append_new(places, json_pack("{s:i, s:o, s:I, s:I}", "site", (int)number,
						"frames", frames, "objects", (json_int_t)s->objects,
						"bytes", (json_int_t)s->bytes));
}

void heap_json(json_t *into)
{
	json_t *objects = json_array(), *places = json_array();

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < nr_kept; i++)
		json_array_append_new(objects, object_json(&kept[i], true));
	for (uint64_t i = 0; live && i <= mask; i++)
		if (live[i].at && is_contended(&live[i], PAGES_LIVE))
			json_array_append_new(objects, object_json(&live[i], false));
	for (uint32_t i = 0; i < nr_sites; i++)
		add_site(places, i, &sites[i]);
	for (uint32_t i = 0; i < nr_again; i++)
		add_site(places, AGAIN + i, &again[i]);
	json_object_set_new(into, "objects", objects);
	json_object_set_new(into, "objects_dropped", json_integer((json_int_t)dropped));
	json_object_set_new(into, "sites", places);
	pthread_mutex_unlock(&lock);
}
