// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A machine file's data besides the topology: the time of a line from CPU to CPU. */
#include "example.h"

static void print_transfer(const struct schedshard_machine *machine, uint32_t from, uint32_t to)
{
	double ns = schedshard_machine_pair_ns(machine, from, to);

	printf("CPU %u to CPU %u: %.1f ns, %.0f cycles\n", from, to, ns, ns * machine->clock_ghz);
}

int main(int argc, char **argv)
{
	struct schedshard_err err = { "" };
	struct schedshard_machine *machine;
	uint32_t last;

	example_need(argc == 2, "usage: machine FILE.toml");
	if (schedshard_machine_load(&machine, argv[1], &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("%s: %u CPUs, %u LLCs, %u packages at %g GHz\n", machine->title, machine->nr_cpus,
	       machine->nr_llcs, machine->nr_packages, machine->clock_ghz);
	last = machine->topo.nr_cpus - 1;
	print_transfer(machine, 0, 1);
	print_transfer(machine, 0, last);
	/* a locked operation on a line that the CPU holds already */
	printf("locked operation: %g cycles\n", machine->op_cycles.locked);
	schedshard_machine_free(machine);
	return 0;
}
