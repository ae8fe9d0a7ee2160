// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Most lines are accessed by one CPU only, such as those of stacks, and most others are never
 * written. Such lines cannot be contended, so the model need not see them. A table says for each
 * line whether only one CPU has accessed it so far, and whether it was written. The model sees the
 * accesses of a line only once it is both shared and written. So it misses the line's earlier
 * transfers, one to each CPU. Locked operations always go to the model, because they take time and
 * drain the store buffer on every line.
 *
 * In a program a line is contended only if it is written while it is shared. Other lines are
 * written by one thread before all threads only read them, such as the linker's tables, which every
 * call of a library reads.
 *
 * The table has an entry per page, with the states of the page's lines. A caller that remembers the
 * pointer to these states needs no search for most accesses. All vCPUs share the table. A
 * compare-and-exchange makes an entry. After that an atomic OR adds bits to the entry, so that no
 * vCPU undoes what another one has found. A page that finds no place within a few steps counts as
 * shared and written.
 */
#include "access.h"

#include <stdlib.h>

#include "host_time.h"
#include "memory.h"
#include "step.h"
#include "vcpu.h"

#define PAGES_BITS 17
#define PROBES	   16u
#define WRITTEN	   ACCESS_WRITTEN
#define SHARED	   ACCESS_SHARED
#define CONTENDED  ACCESS_CONTENDED
#define PAGE_SHIFT 12
#define PAGE_LINES ACCESS_LINES
#define LINE_SHIFT 6

static struct access_tables tables = { .bits = PAGES_BITS };
static uint64_t (*site_of)(uint64_t pc);

int access_begin(void)
{
	tables.pages = memory.zeroed(sizeof(*tables.pages) << tables.bits);
	tables.lines = memory.zeroed(PAGE_LINES * sizeof(*tables.lines) << tables.bits);
	return tables.pages && tables.lines ? 0 : -1;
}

int access_begin_large(uint32_t bits)
{
	tables.bits = bits;
	tables.homes = true;
	return access_begin();
}

/* Report that the page belongs to the CPU's node. */
static void report_home(uint64_t place, uint32_t cpu)
{
	struct vcpu *v = &plugin.vcpu[cpu];
	struct item item = { .kind = ITEM_HOME, .instr = v->last };

	item.place = place;
	item.pc = cpu;
	stream_push(&v->stream, &item);
}

/*
 * The last writer of a word of four bytes: a tag of the word, the CPU, its instruction. If two
 * words have the same tag, a CPU may wait for a store that it did not see. That store did happen
 * before, so the CPU is only a little late. If two words share a slot, the wait for the earlier
 * store is lost, and maybe its transfer.
 *
 * The table is by word, not by line, because neighbouring words may have different writers and
 * readers. A reader must not wait for the writer of another word, least of all in a replay that
 * puts the words on separate lines.
 */
#define WORD_SHIFT   2
#define WRITERS_BITS 16
#define SEEN_BITS    8
#define LOADS	     4u
#define WRITER_INSTR ((1ull << 42) - 1)

/* The last loads that a CPU has reported. */
struct access_loads {
	struct {
		uint64_t place, pc;
	} load[LOADS];
	uint32_t n;
};

int access_writers(void)
{
	tables.writers = memory.zeroed(sizeof(*tables.writers) << WRITERS_BITS);
	tables.seen = memory.zeroed(plugin.nr_vcpus * sizeof(*tables.seen) << SEEN_BITS);
	tables.loads = memory.zeroed(plugin.nr_vcpus * sizeof(*tables.loads));
	return tables.writers && tables.seen && tables.loads ? 0 : -1;
}

struct access_tables access_tables(void)
{
	return tables;
}

void access_attach(const struct access_tables *t)
{
	tables = *t;
}

void access_sites(uint64_t (*site)(uint64_t pc))
{
	site_of = site;
}

static uint64_t *writer_of(uint64_t word, uint64_t *tag)
{
	uint64_t hash = word * 0x9e3779b97f4a7c15ull;

	*tag = (hash >> 8 & 0xfff) << 52;
	return &tables.writers[hash >> (64 - WRITERS_BITS)];
}

/* Return the last word of an access in its first line, the only line that the model sees. */
static uint64_t last_word(uint64_t place, uint32_t size)
{
	uint64_t last = place + size - 1, end = place | ((1u << LINE_SHIFT) - 1);

	return (last < end ? last : end) >> WORD_SHIFT;
}

/* Called before a reported store enters the stream, so that a later load finds its writer. */
static void note_writer(const struct vcpu *v, uint32_t cpu, uint64_t place, uint32_t size)
{
	uint64_t instr = v->last & WRITER_INSTR, tag;

	for (uint64_t word = place >> WORD_SHIFT; word <= last_word(place, size); word++) {
		uint64_t *slot = writer_of(word, &tag);

		__atomic_store_n(slot, tag | (uint64_t)cpu << 42 | instr, __ATOMIC_RELAXED);
	}
}

/*
 * @store: the store that was reported for the previous word of the same access. An access of eight
 * bytes has two words, and one store may have written both.
 */
static void report_writer(struct vcpu *v, uint32_t cpu, uint64_t word, uint64_t *store)
{
	uint64_t tag, *slot = writer_of(word, &tag), now = __atomic_load_n(slot, __ATOMIC_RELAXED);
	uint64_t *seen = &tables.seen[((size_t)cpu << SEEN_BITS) + word % (1u << SEEN_BITS)];
	struct item item = { .kind = ITEM_AFTER, .instr = v->last };

	if (*seen == now || now >> 52 != tag >> 52)
		return;
	*seen = now;
	item.pc = now >> 42 & 0x3ff;
	item.place = now & WRITER_INSTR;
	if (item.pc != cpu && *store != now << 12)
		stream_push(&v->stream, &item);
	*store = now << 12; /* without the tag */
}

/*
 * Does this load wait for another CPU's store? It does when the same instruction has loaded the
 * same byte before, and the CPU has reported no store since. Other accesses meet in the order of
 * the clocks. The order in which the emulator executes them says nothing, because each thread
 * executes many in a row.
 */
static void report_order(struct vcpu *v, uint32_t cpu, uint64_t place, uint64_t pc, uint32_t size,
			 bool writes)
{
	struct access_loads *l = &tables.loads[cpu];
	uint64_t store = 0;

	if (writes) {
		l->n = 0;
		note_writer(v, cpu, place, size);
		return;
	}
	for (uint32_t i = 0; i < l->n && i < LOADS; i++) {
		if (l->load[i].place == place && l->load[i].pc == pc) {
			for (uint64_t w = place >> WORD_SHIFT; w <= last_word(place, size); w++)
				report_writer(v, cpu, w, &store);
			return;
		}
	}
	l->load[l->n++ % LOADS].place = place;
	l->load[(l->n - 1) % LOADS].pc = pc;
}

static bool state_contended(uint64_t state)
{
	uint64_t both = SHARED | WRITTEN;

	return tables.writers ? state & CONTENDED : (state & both) == both;
}

/*
 * Return the states of a page's lines. @cpu: if there are none, make them for this CPU;
 * ITEM_NO_CPU: return NULL.
 */
static uint16_t *lines_of(uint64_t page, uint32_t cpu)
{
	uint64_t at = page * 0x9e3779b97f4a7c15ull >> (64 - tables.bits);

	for (uint32_t i = 0; i < PROBES; i++) {
		uint64_t n = (at + i) & ((1u << tables.bits) - 1), *slot = &tables.pages[n];
		uint64_t seen = __atomic_load_n(slot, __ATOMIC_SEQ_CST);

		if (!seen && cpu == ITEM_NO_CPU)
			return NULL;
		if (!seen && __atomic_compare_exchange_n(slot, &seen, page + 1, false,
							 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
			seen = page + 1;
			if (tables.homes)
				report_home(page << PAGE_SHIFT, cpu);
		}
		if (seen == page + 1)
			return &tables.lines[n * PAGE_LINES];
	}
	return NULL;
}

uint16_t *access_lines(uint64_t place, uint32_t cpu)
{
	return lines_of(place >> PAGE_SHIFT, cpu);
}

static uint16_t *state_of(uint64_t line)
{
	uint16_t *lines = lines_of(line / PAGE_LINES, ITEM_NO_CPU);

	return lines ? &lines[line % PAGE_LINES] : NULL;
}

/* The line's state after this access of @cpu. */
static uint32_t state_after(uint16_t *lines, uint64_t line, uint32_t cpu, bool write)
{
	uint16_t flags = write ? WRITTEN : 0, *state, seen;

	if (!lines)
		return SHARED | WRITTEN | CONTENDED;
	state = &lines[line % PAGE_LINES];
	seen = __atomic_load_n(state, __ATOMIC_RELAXED);
	if (!seen && __atomic_compare_exchange_n(state, &seen, (uint16_t)(flags | (cpu + 1)), false,
						 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return flags | (cpu + 1);
	if ((seen & ACCESS_CPU) != cpu + 1)
		flags |= SHARED;
	if (write && (seen | flags) & SHARED)
		flags |= CONTENDED;
	if ((seen & flags) != flags)
		seen |= __atomic_fetch_or(state, flags, __ATOMIC_SEQ_CST) | flags;
	return seen;
}

static bool contended(const uint16_t *state)
{
	return state_contended(__atomic_load_n(state, __ATOMIC_RELAXED));
}

bool access_contended(uint64_t line)
{
	const uint16_t *state = state_of(line);

	return state && contended(state);
}

bool access_page_contended(uint64_t place)
{
	const uint16_t *lines = lines_of(place >> PAGE_SHIFT, ITEM_NO_CPU);

	for (uint32_t n = 0; lines && n < PAGE_LINES; n++)
		if (contended(&lines[n]))
			return true;
	return false;
}

static void report(struct vcpu *v, uint64_t place, uint64_t data, bool write, uint32_t shift)
{
	struct item item = { .place = place, .pc = data & ITEM_PLACE_MASK };

	if (site_of)
		item.pc = site_of(item.pc);
	item.instr = v->last;
	item.size = (uint8_t)(1u << shift);
	if (access_is_locked(data))
		item.kind = ITEM_LOCKED;
	else
		item.kind = write ? ITEM_STORE : ITEM_LOAD;
	stream_push(&v->stream, &item);
}

/* Set @last to the instructions up to an access. Those of a program's block are counted before. */
static void set_time(struct vcpu *v, uint64_t data)
{
	uint64_t now = v->instr - v->base, after = data >> ITEM_PLACE_BITS & ACCESS_AFTER;

	if (tables.writers)
		now -= after < now ? after : now;
	if (now > v->last)
		v->last = now;
}

bool access_report(uint32_t cpu, uint16_t *lines, uint64_t place, uint64_t data, bool write,
		   uint32_t shift)
{
	struct vcpu *v = &plugin.vcpu[cpu];
	uint32_t flags = state_after(lines, place >> LINE_SHIFT, cpu, write);
	bool locked = access_is_locked(data), contended = state_contended(flags);

	if (!contended && !locked) {
		v->private_accesses++;
		return false;
	}
	if (contended)
		step_meet(v);
	set_time(v, data);
	if (tables.writers)
		report_order(v, cpu, place, data, 1u << shift, locked || write);
	report(v, place, data, write, shift);
	v->reported++;
	return contended;
}

void access_idle(unsigned int vcpu)
{
	struct vcpu *v = &plugin.vcpu[vcpu];

	if (plugin.feed && window_is_open()) {
		struct item item = { .kind = ITEM_IDLE, .instr = v->instr - v->base };

		v->last = item.instr;
		stream_push(&v->stream, &item);
	}
	if (plugin.alone)
		__atomic_store_n(&plugin.state->resting, host_now(), __ATOMIC_RELAXED);
	/*
	 * After the item: pairs with the acquire in get() of window.c. A reader that sees the idle
	 * CPU finds the item, if there is one.
	 */
	__atomic_store_n(&v->idle, true, __ATOMIC_RELEASE);
	step_rouse(vcpu);
}

void access_resume(unsigned int vcpu)
{
	access_resume_after(vcpu, ITEM_NO_CPU, 0);
}

void access_resume_after(uint32_t vcpu, uint32_t other, uint64_t instr)
{
	struct vcpu *v = &plugin.vcpu[vcpu];

	if (plugin.alone)
		__atomic_store_n(&plugin.state->resting, host_now(), __ATOMIC_RELAXED);
	step_meet(v);
	if (plugin.feed && window_is_open()) {
		struct item item = { .kind = ITEM_RESUME, .instr = v->instr - v->base };

		v->last = item.instr;
		if (other == ITEM_NO_CPU || other == vcpu) {
			other = step_slowest(vcpu);
			instr = UINT64_MAX;
		}
		item.pc = other;
		if (other != ITEM_NO_CPU) {
			const struct vcpu *x = &plugin.vcpu[other];
			uint64_t now = __atomic_load_n(&x->instr, __ATOMIC_RELAXED);

			now = now < instr ? now : instr;
			item.place = now > x->base ? now - x->base : 0;
		} else {
			item.place = __atomic_load_n(&plugin.state->idled, __ATOMIC_ACQUIRE);
		}
		stream_push(&v->stream, &item);
		__atomic_store_n(&v->idle, false, __ATOMIC_RELEASE);
		/* Pairs with the acquire in look_for_news(), whose caller then finds the item. */
		__atomic_fetch_add(&plugin.state->news, 1, __ATOMIC_RELEASE);
		step_rouse(vcpu);
	} else {
		__atomic_store_n(&v->idle, false, __ATOMIC_RELEASE);
	}
}
