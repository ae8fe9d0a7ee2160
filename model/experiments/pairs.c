// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The class of a pair of CPUs is the name of their distance: a level of the topology, or a tier of
 * the machine file. Classes are sorted by latency, those of equal latency in the order found.
 */
#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#include "machine.h"

struct found {
	const char *class;
	double ns;
	uint32_t from, to;
};

bool pairs_has_cpu(const struct machine *machine, uint64_t cpu)
{
	return cpu < machine->topo.nr_cpus && machine->topo.cpu[cpu].possible;
}

static json_t *pair_json(const char *class, uint32_t from, uint32_t to)
{
	return json_pack("{s:s, s:i, s:i}", "class", class, "from", (int)from, "to", (int)to);
}

static bool is_new(const struct found *found, uint32_t n, const char *class)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(found[i].class, class))
			return false;
	return true;
}

json_t *pairs_by_class(const struct machine *machine)
{
	uint32_t most = MACHINE_OTHER_PACKAGE + machine->nr_tiers, n = 0;
	struct found *found = calloc(most, sizeof(*found));
	json_t *pairs = json_array();

	for (uint32_t from = 0; found && from < machine->topo.nr_cpus; from++) {
		for (uint32_t to = from + 1; to < machine->topo.nr_cpus && n < most; to++) {
			const char *class;
			uint32_t at = n;

			if (!pairs_has_cpu(machine, from) || !pairs_has_cpu(machine, to))
				continue;
			class = machine_pair_class(machine, from, to);
			if (!is_new(found, n, class))
				continue;
			for (double ns = machine_pair_ns(machine, from, to);
			     at && found[at - 1].ns > ns; at--)
				found[at] = found[at - 1];
			found[at] = (struct found){ class, machine_pair_ns(machine, from, to), from,
						    to };
			n++;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(pairs, pair_json(found[i].class, found[i].from, found[i].to));
	free(found);
	return pairs;
}

json_t *pairs_from(const struct machine *machine, uint32_t from)
{
	json_t *pairs = json_array();

	for (uint32_t to = 0; to < machine->topo.nr_cpus; to++)
		if (to != from && pairs_has_cpu(machine, to))
			json_array_append_new(
				pairs, pair_json(machine_pair_class(machine, from, to), from, to));
	return pairs;
}
