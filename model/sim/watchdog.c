// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Ends a simulation that would never end by itself, and prints the state of each CPU.
 *
 * The watchdog does not end a program that would end by itself. A CPU that only reads can act
 * differently only when another CPU has stored, or at a later time. The watchdog waits for a number
 * of accesses (its patience) in which no CPU has stored. It then notes the latest time to which any
 * CPU computes, waits until that time is over, and then waits for as many accesses again. By then
 * each CPU has read what there is to read, and has not stored anything.
 */
#include "watchdog.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim.h"

static const struct arena_object *object_of(uint32_t line)
{
	return line < arena_lines() ? arena_object_of(line) : NULL;
}

static void print_cpu(const struct cpu *c)
{
	const struct arena_object *o = object_of(c->fetch.line);

	fprintf(stderr, "CPU %" PRIu32 " at %" PRIu64 ".%03u ns", c->number, c->clock / 1000,
		(unsigned int)(c->clock % 1000));
	if (c->returned)
		fprintf(stderr, ": returned");
	else if (c->computing && c->timer_at == NEVER)
		fprintf(stderr, ": idle until an interrupt");
	else if (c->computing)
		fprintf(stderr, ": computes until %" PRIu64 " ns", c->timer_at / 1000);
	else if (c->sb_n)
		fprintf(stderr, ": %" PRIu32 " stores in its buffer", c->sb_n);
	if (o && !c->returned)
		fprintf(stderr, "; last miss: %s %s, byte %" PRIu64,
			c->fetch.write ? "wrote" : "read",
			o->name ? o->name : "an object without a name",
			(uint64_t)c->fetch.line * LINE_SIZE - o->offset);
	fputc('\n', stderr);
}

void watchdog_give_up(const char *why)
{
	for (uint32_t i = 0; i < sim.model->nr_cpus; i++)
		if (sim.cpu[i].body)
			print_cpu(&sim.cpu[i]);
	fprintf(stderr, "schedshard-sim: %s\n", why);
	exit(1);
}

/* The latest time at which a CPU will act by itself. */
static uint64_t latest(void)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < sim.model->nr_cpus; i++) {
		const struct cpu *c = &sim.cpu[i];
		uint64_t at = c->computing ? c->timer_at : c->clock;

		if (c->body && !c->returned && at != NEVER && at > found)
			found = at;
	}
	return found;
}

void watchdog_look(void)
{
	uint64_t now = sim.running->clock;

	if (sim.watch.looked + sim.watch.patience != sim.events) {
		sim.watch.until = latest();
		sim.watch.over = false;
	} else if (sim.watch.over) {
		watchdog_give_up(
			"no simulated CPU makes progress: those that run read for ever, and "
			"none stores");
	}
	if (now >= sim.watch.until)
		sim.watch.over = true;
	sim.watch.looked = sim.events;
	sim.watch.deadline = sim.events + sim.watch.patience;
}

void sim_give_up_after(uint64_t accesses)
{
	sim.watch.patience = accesses;
	sim.watch.looked = UINT64_MAX; /* never */
	watchdog_progress();
}
