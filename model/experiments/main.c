// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard-sim: one process runs one variant of one experiment on one machine, once. A sweep is
 * many processes. Two runs share nothing, so each can be repeated alone.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "experiment.h"
#include "machine.h"
#include "options.h"
#include "pairs.h"
#include "result.h"

/* Accesses during which at least one CPU must store; they take a few seconds. */
#define PATIENCE (1ull << 26)

/* Return the processor time: the cost of the run, independent of other load on the host. */
static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print(json_t *json)
{
	if (!json || json_dumpf(json, stdout, JSON_INDENT(1)) || putchar('\n') == EOF ||
	    fflush(stdout))
		errx(2, "cannot write the result to standard output");
	json_decref(json);
}

static void check_cpu(const struct machine *machine, uint32_t cpu, const char *option)
{
	if (!pairs_has_cpu(machine, cpu))
		errx(2, "%s names CPU %u: machine %s has no such CPU, it has %u CPUs", option, cpu,
		     machine->name, machine->nr_cpus);
}

static json_t *pairs(const struct options *o, const struct machine *machine)
{
	if (!o->has_from)
		return pairs_by_class(machine);
	check_cpu(machine, o->from, "--from");
	return pairs_from(machine, o->from);
}

/*
 * Return the CPUs to simulate, in an array that the caller frees; @n receives their number. NULL:
 * no memory.
 */
static uint32_t *chosen_cpus(const struct options *o, const struct machine *machine, uint32_t *n)
{
	uint32_t *cpus = calloc(machine->nr_cpus, sizeof(*cpus)), found = 0;

	for (uint32_t i = 0; cpus && i < machine->topo.nr_cpus; i++)
		if (machine->topo.cpu[i].possible)
			cpus[found++] = i;
	*n = o->cpus ? o->cpus : machine->nr_cpus;
	if (*n > machine->nr_cpus)
		errx(2, "--cpus is %u: machine %s has %u CPUs", *n, machine->name,
		     machine->nr_cpus);
	if (!o->on || !cpus)
		return cpus;
	for (*n = 0; *n < o->nr_on; ++*n) {
		check_cpu(machine, o->on[*n], o->is_pair ? "--pair" : "--on");
		cpus[*n] = o->on[*n];
	}
	return cpus;
}

static void run(const struct options *o, const struct machine *machine)
{
	uint32_t n;
	uint32_t *cpus = chosen_cpus(o, machine, &n);
	struct model model;
	struct run r = { .experiment = o->experiment,
			 .variant = o->variant,
			 .machine = machine,
			 .model = &model,
			 .cap = o->cap,
			 .nr_params = o->nr_params };
	double started;

	memcpy(r.param, o->param, sizeof(r.param));
	if (!cpus || model_build(&model, machine, cpus, n))
		errx(2,
		     "machine %s does not fit the simulator: out of memory or more than %d threads "
		     "per core",
		     machine->name, MODEL_MAX_THREADS);
	if (sim_init(&model, o->seed))
		errx(2, "out of memory for %u simulated CPUs", n);
	sim_give_up_after(PATIENCE);
	started = seconds();
	if (o->experiment->execute(&r))
		errx(2, "%s %s: %s", o->experiment->name, o->variant, r.failure);
	print(result_json(&r, o->seed,
			  o->is_pair ? "pair"
			  : o->on    ? "given"
				     : "os",
			  seconds() - started));
	sim_exit();
	model_free(&model);
	free(cpus);
}

int main(int argc, char **argv)
{
	struct options o;
	struct machine *machine;
	struct shard_err err;

	options_parse(&o, argc, argv);
	if (o.list) {
		print(result_list());
		return 0;
	}
	if (machine_load(&machine, o.machine, &err))
		errx(2, "%s", err.text);
	if (o.pairs)
		print(pairs(&o, machine));
	else
		run(&o, machine);
	machine_free(machine);
	return 0;
}
