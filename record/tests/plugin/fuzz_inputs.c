// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Traces and watch files of any bytes are accepted, or refused with one line. The first byte
 * chooses between trace and watch file.
 */
#include "../../../model/tests/sim/check.h"

#include <stdbool.h>
#include <string.h>

#include "trace.h"
#include "watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int begin(void *arg, uint32_t nr_cpus)
{
	CHECK(nr_cpus && nr_cpus <= TRACE_MAX_CPUS);
	*(uint32_t *)arg = nr_cpus;
	return 0;
}

static int take(void *arg, uint32_t cpu, const struct item *item)
{
	CHECK(cpu < *(uint32_t *)arg && item->kind < ITEM_KINDS);
	CHECK(item->size && item->size <= 64 && item->instr < 1ull << 62);
	CHECK(!item_is_access(item) || (item->place | item->pc) <= ITEM_PLACE_MASK);
	return 0;
}

static void parse_watch(const uint8_t *data, size_t size)
{
	struct watch_error err = { "" };
	char *text = malloc(size + 1);
	struct watch w;

	CHECK(text);
	memcpy(text, data, size);
	text[size] = '\0';
	if (watch_parse(&w, text, "input", &err)) {
		CHECK(err.text[0]);
	} else {
		for (uint32_t i = 1; i < w.nr_text; i++)
			CHECK(w.text[i - 1].high < w.text[i].low);
		for (uint32_t i = 0; i < w.nr_text; i++)
			CHECK(watch_text(&w, w.text[i].low) && !watch_text(&w, w.text[i].high));
		watch_free(&w);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_error err = { "" };
	uint32_t nr_cpus = 0;
	bool cut;

	if (!size)
		return 0;
	if (data[0] & 1)
		parse_watch(data + 1, size - 1);
	else if (trace_parse(data + 1, size - 1, "input", begin, take, &nr_cpus, &cut, &err))
		CHECK(err.text[0]);
	return 0;
}
