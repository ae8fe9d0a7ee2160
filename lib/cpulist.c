// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Reads the kernel's list format.
 *
 * The parser refuses a number as soon as it exceeds the limit. So no value overflows, and the time
 * for a range is bounded by the size of the set, whatever the text is.
 */
#include <string.h>
#include "cpulist.h"

static const char not_a_list[] = "is not a list of CPU numbers such as 0-3,8";

static const char *parse_number(const char **pos, const char *end, u32 *nr)
{
	const char *at = *pos;
	u32 value = 0;

	if (at == end || *at < '0' || *at > '9')
		return not_a_list;
	while (at < end && *at >= '0' && *at <= '9') {
		value = 10 * value + (u32)(*at++ - '0');
		if (value >= SHARD_LIB_MAX_CPUS)
			return "has a number above 8191";
	}
	*pos = at;
	*nr = value;
	return NULL;
}

const char *shard_cpulist_parse(struct cpulist *list, const char *text, size_t len)
{
	const char *at = text, *end = text + len, *why;
	u32 first, last;

	static_assert(SHARD_LIB_MAX_CPUS == 8192, "a message in this file names the limit");
	memset(list, 0, sizeof(*list));
	while (end > at && (end[-1] == '\n' || end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (at == end)
		return NULL;
	for (;;) {
		why = parse_number(&at, end, &first);
		if (why)
			return why;
		last = first;
		if (at < end && *at == '-') {
			at++;
			why = parse_number(&at, end, &last);
			if (why)
				return why;
			if (last < first)
				return "has a range that ends before it starts";
		}
		for (u32 nr = first; nr <= last; nr++)
			cpulist_add(list, nr);
		if (at == end)
			return NULL;
		if (*at++ != ',')
			return not_a_list;
	}
}

const char *shard_cpumask_parse(struct cpulist *list, const char *text, size_t len)
{
	static const char not_a_mask[] = "is not a mask of CPUs such as 00000000,000000ff";
	u32 bit = 0, digits = 0;

	memset(list, 0, sizeof(*list));
	if (!len)
		return not_a_mask;
	/*
	 * from the end, where CPU 0 is: a word has 8 digits, and only the first word may have fewer
	 */
	for (size_t at = len; at--;) {
		char c = text[at];
		u32 value;

		if (c == ',') {
			if (digits != 8 || !at)
				return not_a_mask;
			digits = 0;
			continue;
		}
		if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
			return not_a_mask;
		if (++digits > 8)
			return not_a_mask;
		value = (u32)(c <= '9' ? c - '0' : c - 'a' + 10);
		if (value && bit + 4 > SHARD_LIB_MAX_CPUS)
			return "has a number above 8191";
		for (u32 i = 0; i < 4; i++) {
			if (value >> i & 1)
				cpulist_add(list, bit + i);
		}
		bit += 4;
	}
	return NULL;
}

u32 shard_cpulist_next(const struct cpulist *list, u32 from)
{
	u32 at = from / 64;
	u64 word;

	if (from >= SHARD_LIB_MAX_CPUS)
		return SHARD_LIB_MAX_CPUS;
	word = list->word[at] & ~0ULL << from % 64;
	while (!word) {
		if (++at == SHARD_LIB_MAX_CPUS / 64)
			return SHARD_LIB_MAX_CPUS;
		word = list->word[at];
	}
	return at * 64 + (u32)__builtin_ctzll(word);
}

u32 shard_cpulist_weight(const struct cpulist *list)
{
	u32 nr = 0;

	for (u32 at = 0; at < SHARD_LIB_MAX_CPUS / 64; at++)
		nr += (u32)__builtin_popcountll(list->word[at]);
	return nr;
}
