// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Builds the scheduler domains of core, LLC, node, package and machine. As in Linux, a level that
 * joins nothing is omitted, and a level's parameters are those of Linux 6.12.
 *
 * All CPUs of a domain share one description, because the builder builds each set of CPUs once. The
 * builder takes CPUs in the order of their numbers, and groups in the order of their first CPUs.
 */
#include "fair_rq.h"

#include "arena.h"
#include "machine.h"
#include "model.h"

enum { CORE, LLC, NODE, PACKAGE, MACHINE };

static u32 id_of(const struct fair_cpu *c, int level)
{
	switch (level) {
	case CORE:
		return c->core;
	case LLC:
		return c->llc;
	case NODE:
		return c->node;
	case PACKAGE:
		return c->package;
	}
	return 0;
}

/* The CPUs that share @level with @cpu, in the order of CPU numbers. Return: how many. */
static u32 members(const struct fair *f, u32 cpu, int level, u32 *out)
{
	u32 n = 0, id = id_of(&f->cpu[cpu], level);

	for (u32 i = 0; i < f->plan->nr_cpus; i++)
		if (f->by_number[i] != UINT32_MAX && id_of(&f->cpu[f->by_number[i]], level) == id)
			out[n++] = f->by_number[i];
	return n;
}

static u32 count_cores(const struct fair *f, const u32 *cpu, u32 n)
{
	u32 cores = 0;

	for (u32 i = 0; i < n; i++) {
		u32 k = 0;

		while (f->cpu[cpu[k]].core != f->cpu[cpu[i]].core)
			k++;
		cores += k == i;
	}
	return cores;
}

/* @child: the level of its groups, -1: single CPUs. */
static void add_groups(struct fair *f, struct fair_domain *d, int child)
{
	d->group = zalloc(d->nr, sizeof(*d->group));
	for (u32 i = 0; i < d->nr; i++) {
		struct fair_group *g = &d->group[d->nr_groups];
		u32 k = 0, id = child < 0 ? 0 : id_of(&f->cpu[d->cpu[i]], child);

		while (child >= 0 && id_of(&f->cpu[d->cpu[k]], child) != id)
			k++;
		if (child >= 0 && k < i)
			continue; /* already in the group of an earlier CPU */
		g->cpu = zalloc(d->nr, sizeof(*g->cpu));
		for (k = i; k < d->nr; k++)
			if (k == i || (child >= 0 && id_of(&f->cpu[d->cpu[k]], child) == id))
				g->cpu[g->nr++] = d->cpu[k];
		g->cores = count_cores(f, g->cpu, g->nr);
		d->nr_groups++;
	}
}

static u32 nr_llcs_in(const struct fair *f, const struct fair_group *g)
{
	u32 n = 0;

	for (u32 i = 0; i < g->nr; i++) {
		u32 k = 0;

		while (f->cpu[g->cpu[k]].llc != f->cpu[g->cpu[i]].llc)
			k++;
		n += k == i;
	}
	return n;
}

static const struct fair_domain *find(const struct fair *f, u32 cpu, u32 nr)
{
	for (u32 i = 0; i < f->nr_domains; i++)
		for (u32 k = 0; f->domain[i].nr == nr && k < nr; k++)
			if (f->domain[i].cpu[k] == cpu)
				return &f->domain[i];
	return NULL;
}

static const struct fair_domain *build(struct fair *f, u32 cpu, int level, int child)
{
	struct fair_domain *d = &f->domain[f->nr_domains++];
	bool numa = level > NODE;

	d->cpu = zalloc(f->nr_cpus, sizeof(*d->cpu));
	d->nr = members(f, cpu, level, d->cpu);
	d->siblings = level == CORE;
	d->share_llc = level <= LLC;
	d->numa = numa;
	d->spread = child >= 0 && child <= NODE; /* NUMA domains do not prefer siblings */
	d->percent = level == CORE ? 110 : 117;
	d->nice_tries = level == CORE ? 0 : numa ? 2 : 1;
	add_groups(f, d, child);
	if (numa) {
		u32 llcs = nr_llcs_in(f, &d->group[0]);

		d->numa_spare = llcs == 1 ? d->group[0].nr / 8 : llcs;
		d->numa_spare = d->numa_spare ? d->numa_spare : 1;
	}
	return d;
}

static u32 group_of(const struct fair_domain *d, u32 cpu)
{
	for (u32 g = 0;; g++)
		for (u32 i = 0; i < d->group[g].nr; i++)
			if (d->group[g].cpu[i] == cpu)
				return g;
}

static void add_domains(struct fair *f, struct fair_cpu *c, u32 *scratch)
{
	u32 below = 1, nr;
	int child = -1;

	for (int level = CORE; level <= MACHINE; level++) {
		const struct fair_domain *d;

		nr = members(f, c->index, level, scratch);
		if (nr == below)
			continue;
		d = find(f, c->index, nr);
		if (!d)
			d = build(f, c->index, level, child);
		c->group[c->nr_domains] = group_of(d, c->index);
		c->domain[c->nr_domains++] = d;
		child = level;
		below = nr;
	}
	c->sd = arena_alloc(FAIR_LEVELS * sizeof(*c->sd), (int)c->node, "sched_domain",
			    "struct fair_sd");
	for (u32 i = 0; i < c->nr_domains; i++)
		c->sd[i].interval = c->domain[i]->nr;
}

void fair_domains_build(struct fair *f)
{
	u32 *scratch = zalloc(f->nr_cpus, sizeof(*scratch));

	/* At most one core, LLC and so on per CPU. */
	f->domain = zalloc((size_t)f->nr_cpus * FAIR_LEVELS, sizeof(*f->domain));
	for (u32 i = 0; i < f->nr_cpus; i++)
		add_domains(f, &f->cpu[i], scratch);
	free(scratch);
}

void fair_domains_free(struct fair *f)
{
	for (u32 i = 0; i < f->nr_domains; i++) {
		struct fair_domain *d = &f->domain[i];

		for (u32 g = 0; g < d->nr_groups; g++)
			free(d->group[g].cpu);
		free(d->group);
		free(d->cpu);
	}
	free(f->domain);
}
