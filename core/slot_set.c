// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A part is the slots that slot_set_alloc() or one slot_set_grow() makes. A part gives each shard a
 * range of the part's words. If slots keep their homes, the range is proportional to the shard's
 * share of the CPUs. The number of slots in a word is the largest power of two with which each
 * shard still gets a word: 64 if there are many slots, 1 if few. So slot numbers have no gaps, and
 * a shift finds the word of a slot. If homes follow the users of slots, each shard has a row of
 * words, with one bit per slot.
 *
 * A free slot has one bit set, in a word of its home shard; a taken slot has none. A put sets one
 * bit. slot_claim.c has the other half of the argument why no two claims get the same slot.
 *
 * A part never moves, and slot_set_grow() stores it before it raises @nr_parts with release. So a
 * claim that does not see the new part searches only the earlier ones. A thread that puts a slot of
 * a part has claimed the slot, or got it from the thread that did, so it sees the part.
 */
#include "shard_lines.h"
#include "slot_set.h"
#include "slot_steal.h"

#define WORD_BITS  64u
#define LINE_WORDS (PORT_CACHELINE / sizeof(u64))

static u32 share(u32 nr, u32 idx, u32 of)
{
	return (u32)port_div64((u64)nr * idx, of);
}

/* Number of words of a shard in a part. */
static u32 words_of(const struct slot_part *p, u32 shard)
{
	return p->from[shard + 1] - p->from[shard];
}

static size_t stride_of(const struct slot_part *p)
{
	return p->row ? 1 : LINE_WORDS;
}

/* Bytes for the shards [@shard, @end), each on separate lines. */
static size_t block_size(const struct slot_part *p, u32 shard, u32 end)
{
	size_t lines = 0;

	for (; shard < end; shard++)
		lines += (words_of(p, shard) * stride_of(p) + LINE_WORDS - 1) / LINE_WORDS;
	return lines * PORT_CACHELINE;
}

static void free_part(const struct shard_plan *plan, struct slot_part *p)
{
	if (!p)
		return;
	for (u32 shard = 0, end; shard < plan->nr_shards; shard = end) {
		size_t bytes;

		end = shard_node_end(plan, shard);
		bytes = block_size(p, shard, end);
		if (bytes)
			port_free(p->word[p->from[shard]], bytes);
	}
	port_free(p, p->bytes);
}

/* Allocate the lines of the shards [@shard, @end), which are on one node. */
static bool alloc_lines(const struct shard_plan *plan, struct slot_part *p, u32 shard, u32 end)
{
	size_t bytes = block_size(p, shard, end);
	u64 *block;

	if (!bytes)
		return true;
	block = (u64 *)port_alloc(bytes, plan->shard[shard].node);
	if (!block)
		return false;
	for (; shard < end; shard++) {
		for (u32 i = 0; i < words_of(p, shard); i++)
			p->word[p->from[shard] + i] = block + i * stride_of(p);
		block += block_size(p, shard, shard + 1) / sizeof(u64);
	}
	return true;
}

/* Make the slots [@slot, @end), counted from the part's first, free in the words from @word on. */
static void fill(const struct slot_part *p, u64 *const *word, u32 slot, u32 end)
{
	u32 bits = 1u << p->shift, next;

	for (; slot < end; slot = next) {
		next = (slot | (bits - 1)) + 1;
		if (next > end)
			next = end;
		*word[slot >> p->shift] |= ~0ull >> (WORD_BITS - (next - slot))
							    << (slot & (bits - 1));
	}
}

/* Fill a shard's words unless they are to be @empty, and give each of its CPUs its own slot. */
static void fill_shard(const struct shard_plan *plan, struct slot_part *p, u32 shard, bool empty)
{
	const struct shard *s = &plan->shard[shard];
	u32 begin = p->from[shard] << p->shift, end = p->from[shard + 1] << p->shift;
	u64 **word = p->word + p->row * shard;

	if (p->row) {
		begin = share(p->nr, s->first_idx, plan->nr_possible);
		end = share(p->nr, s->first_idx + s->nr_cpus, plan->nr_possible);
	} else if (end > p->nr) {
		end = p->nr;
	}
	if (!empty)
		fill(p, word, begin, end);
	for (u32 pos = 0; pos < s->nr_cpus && (p->row || begin < end); pos++) {
		struct slot_own *own = slot_own_of(p->own, plan->shard_cpus[shard][pos]);
		u32 slot = begin + share(end - begin, pos, s->nr_cpus);

		own->word = word[slot >> p->shift];
		own->at = (u64)(p->first + slot) << 6 | (slot & ((1u << p->shift) - 1));
	}
}

/* Return log2 of the number of slots per word. */
static u32 shift_for(const struct shard_plan *plan, u32 nr, bool follow)
{
	u32 shift = 6;

	while (!follow && shift && nr >> shift < plan->nr_shards)
		shift--;
	return shift;
}

/* Number of words: of each shard's row where homes follow, else of the part. */
static u32 words_for(u32 nr, u32 shift)
{
	return (nr + (1u << shift) - 1) >> shift;
}

/* Allocate a part without its lines. */
static struct slot_part *alloc_part(struct slot_set *s, u32 first, u32 nr)
{
	const struct shard_plan *plan = s->plan;
	u32 shift = shift_for(plan, nr, s->nr_follow), row = words_for(nr, shift);
	u32 nr_words = s->nr_follow ? row * plan->nr_shards : row;
	size_t tables =
		first ? plan->nr_cpus * sizeof(struct slot_own) + nr_words * sizeof(u64 *) : 0;
	size_t bytes = sizeof(struct slot_part) + tables + (plan->nr_shards + 1) * sizeof(u32);
	struct slot_part *p = (struct slot_part *)port_alloc(bytes, -1);

	if (!p)
		return NULL;
	p->first = first;
	p->nr = nr;
	p->nr_words = nr_words;
	p->shift = shift;
	p->row = s->nr_follow ? row : 0;
	p->bytes = bytes;
	if (first) {
		p->own = (struct slot_own *)(p + 1) + plan->nr_cpus;
		p->word = (u64 **)p->own;
	} else {
		p->own = (struct slot_own *)s;
		p->word = s->word;
	}
	p->from = (u32 *)((char *)(p + 1) + tables);
	return p;
}

static struct slot_part *make_part(struct slot_set *s, u32 first, u32 nr)
{
	const struct shard_plan *plan = s->plan;
	struct slot_part *p = alloc_part(s, first, nr);

	if (!p)
		return NULL;
	for (u32 shard = 0; shard < plan->nr_shards; shard++) {
		u32 end = plan->shard[shard].first_idx + plan->shard[shard].nr_cpus;

		p->from[shard + 1] =
			p->row ? p->row * (shard + 1) : share(p->nr_words, end, plan->nr_possible);
	}
	for (u32 shard = 0, end; shard < plan->nr_shards; shard = end) {
		end = shard_node_end(plan, shard);
		if (!alloc_lines(plan, p, shard, end)) {
			free_part(plan, p); /* the pointers to later lines are NULL */
			return NULL;
		}
		for (; shard < end; shard++)
			fill_shard(plan, p, shard, s->empty);
	}
	return p;
}

bool slot_set_grow(struct slot_set *s, u32 nr)
{
	u32 parts = READ_ONCE(s->nr_parts), size = parts ? slot_set_size(s) : 0;
	u32 most = s->nr_follow ? SLOT_FOLLOW_MAX : SLOT_SET_MAX;

	if (!nr || nr > most - size || parts == SLOT_SET_PARTS)
		return false;
	s->part[parts] = make_part(s, size, nr);
	if (!s->part[parts])
		return false;
	smp_store_release(&s->nr_parts, parts + 1); /* pairs with the acquires of nr_parts */
	/*
	 * For a caller that then wakes waiters: else shard_wait_wake() may look for them too early.
	 */
	smp_mb();
	return true;
}

/* Bytes of the table in front of a set, rounded up to whole lines. */
static size_t own_bytes(const struct shard_plan *plan)
{
	return shard_whole_lines(plan->nr_cpus * sizeof(struct slot_own));
}

static void free_set(struct slot_set *s)
{
	port_free((char *)s - own_bytes(s->plan), s->bytes);
}

struct slot_set *slot_set_alloc(const struct shard_plan *plan, u32 nr, unsigned int flags)
{
	bool follow = flags & SLOT_FOLLOW;
	u32 shift = shift_for(plan, nr, follow);
	size_t words = (size_t)words_for(nr, shift) * (follow ? plan->nr_shards : 1);
	size_t bytes = own_bytes(plan) + sizeof(struct slot_set) + words * sizeof(u64 *);
	struct slot_set *s;
	char *block;

	if (!nr || nr > (follow ? SLOT_FOLLOW_MAX : SLOT_SET_MAX))
		return NULL;
	block = (char *)port_alloc(bytes, -1);
	if (!block)
		return NULL;
	s = (struct slot_set *)(block + own_bytes(plan));
	s->plan = plan;
	s->nr_follow = follow ? nr : 0;
	s->empty = flags & SLOT_EMPTY;
	s->bytes = bytes;
	if (!slot_set_grow(s, nr)) {
		free_set(s);
		return NULL;
	}
	if (!follow)
		s->quick = (u64)nr << 3 | shift;
	return s;
}

void slot_set_destroy(struct slot_set *s)
{
	if (!s)
		return;
	for (u32 i = 0; i < s->nr_parts; i++)
		free_part(s->plan, s->part[i]);
	free_set(s);
}

static port_always_inline const struct slot_part *part_of(const struct slot_set *s, u32 slot)
{
	struct slot_part *const *part = s->part;

	while (slot - (*part)->first >= (*part)->nr)
		part++;
	return *part;
}

static port_always_inline void put(u64 *const *words, u32 shift, u32 slot)
{
	port_or64_release(words[slot >> shift], 1ull << (slot & ((1u << shift) - 1)));
}

void slot_put_any(struct slot_set *s, u32 slot)
{
	const struct slot_part *p = part_of(s, slot);

	slot -= p->first;
	put(p->word + (p->row ? p->row * slot_home(s->plan, slot, p->nr) : 0), p->shift, slot);
}

/* The word with a slot's bit, if it is put for a CPU; @bit receives the bit. */
static port_always_inline u64 *word_near(const struct slot_set *s, u32 slot, u32 cpu, u64 *bit)
{
	const struct slot_part *p;
	u32 in_part;

	if (slot < s->nr_follow) {
		const struct slot_own *own = slot_own_of(s, cpu);

		*bit = 1ull << (slot & 63);
		/* in its shard's row, whose words have 64 slots each */
		return own->word + (s64)(slot >> 6) - (s64)(slot_own_slot(own->at) >> 6);
	}
	p = part_of(s, slot);
	in_part = slot - p->first;
	*bit = 1ull << (in_part & ((1u << p->shift) - 1));
	return p->word[p->row * s->plan->slot[cpu].shard + (in_part >> p->shift)];
}

void slot_put_near(struct slot_set *s, u32 slot, u32 cpu)
{
	u64 *word, bit;

	if (s->nr_follow) {
		word = word_near(s, slot, cpu, &bit);
		port_or64_release(word, bit);
	} else {
		slot_put(s, slot);
	}
}

void slot_put_n(struct slot_set *s, u32 cpu, u32 n, const u32 *slots)
{
	u64 *word = NULL, *next, bits = 0, bit;

	for (u32 i = 0; i < n; i++, word = next, bits |= bit) {
		next = word_near(s, slots[i], cpu, &bit);
		if (next != word && bits) {
			port_or64_release(word, bits);
			bits = 0;
		}
	}
	if (bits)
		port_or64_release(word, bits);
}

/* Whether a slot has a bit in any shard where it may be; clear it if @take. */
static bool look(const struct slot_set *s, u32 slot, bool take)
{
	const struct slot_part *p = part_of(s, slot);
	u32 word = (slot - p->first) >> p->shift, bit = (slot - p->first) & ((1u << p->shift) - 1);

	for (; word < p->nr_words; word += p->row) {
		if (take ? port_test_and_clear64(p->word[word], bit)
			 : READ_ONCE(*p->word[word]) >> bit & 1)
			return true;
		if (!p->row)
			break;
	}
	return false;
}

bool slot_is_free(const struct slot_set *s, u32 slot)
{
	return look(s, slot, false);
}

bool slot_take(struct slot_set *s, u32 slot)
{
	return look(s, slot, true);
}

/* Those of the slots of a part's word of number @word that are free. In a row, of all shards. */
static u64 free_in(const struct slot_part *p, u32 word)
{
	u64 bits = 0;

	do {
		bits |= READ_ONCE(*p->word[word]);
	} while (p->row && (word += p->row) < p->nr_words);
	return bits;
}

s64 slot_next_taken(const struct slot_set *s, u32 slot)
{
	u32 size = slot_set_size(s);

	while (slot < size) {
		const struct slot_part *p = part_of(s, slot);
		u32 at = slot - p->first, word = at >> p->shift, bit = at & ((1u << p->shift) - 1);
		u64 taken = ~free_in(p, word) >> bit;
		u32 left = (1u << p->shift) - bit;

		if (left > p->nr - at)
			left = p->nr - at;
		if (taken && port_ctz64(taken) < left)
			return slot + port_ctz64(taken);
		slot += left;
	}
	return -1;
}

u32 slot_set_nr_free(const struct slot_set *s)
{
	u32 parts = smp_load_acquire(&s->nr_parts), n = slot_cache_nr(s); /* pairs as in claim() */

	for (u32 i = 0; i < parts; i++)
		for (u32 word = 0; word < s->part[i]->nr_words; word++)
			n += port_popcount64(READ_ONCE(*s->part[i]->word[word]));
	return n;
}
