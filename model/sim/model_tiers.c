// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Finds the latencies of pairs of cores, and makes the tables that follow from them.
 *
 * A tier is a latency that occurs between cores of one package. A pair in two packages has the tier
 * of the longest latency inside one package, plus a crossing for each leg between packages.
 */
#include <stdlib.h>

#include "machine.h"
#include "model.h"

struct builder {
	struct model *m;
	double ns[MODEL_MAX_TIERS];
	uint32_t *cpu; /* by core: one of its CPUs */
	double far;    /* longest latency inside a package */
};

/* The tier with this latency, a new one if necessary; MODEL_MAX_TIERS if there are too many. */
static uint32_t tier_of(struct builder *b, double ns)
{
	for (uint32_t t = 1; t < b->m->nr_tiers; t++)
		if (b->ns[t] == ns)
			return t;
	if (b->m->nr_tiers == MODEL_MAX_TIERS)
		return MODEL_MAX_TIERS;
	b->ns[b->m->nr_tiers] = ns;
	return b->m->nr_tiers++;
}

/*
 * Set the tiers of pairs in one package. All other pairs stay at 0, and get the longest of these
 * tiers later.
 */
static int near_pairs(struct builder *b)
{
	struct model *m = b->m;

	for (uint32_t x = 0; x < m->nr_cores; x++) {
		for (uint32_t y = 0; y < x; y++) {
			double ns;
			uint32_t t;

			if (m->core[x].package != m->core[y].package)
				continue;
			ns = machine_pair_ns(m->machine, b->cpu[x], b->cpu[y]);
			t = tier_of(b, ns);
			if (t == MODEL_MAX_TIERS)
				return -1;
			if (ns > b->far)
				b->far = ns;
			m->pair[(size_t)x * m->nr_cores + y] = (uint8_t)t;
			m->pair[(size_t)y * m->nr_cores + x] = (uint8_t)t;
		}
	}
	return 0;
}

static int far_pairs(struct builder *b)
{
	struct model *m = b->m;
	uint32_t far;

	if (b->far == 0) /* one core per package */
		b->far = m->machine->latency_ns.remote;
	far = tier_of(b, b->far);
	if (far == MODEL_MAX_TIERS)
		return -1;
	for (uint32_t x = 0; x < m->nr_cores; x++)
		for (uint32_t y = 0; y < m->nr_cores; y++)
			if (m->core[x].package != m->core[y].package)
				m->pair[(size_t)x * m->nr_cores + y] = (uint8_t)far;
	return 0;
}

static void legs(struct builder *b, double data_leg)
{
	struct model *m = b->m;

	b->ns[0] = m->machine->latency_ns.smt;
	m->nearest = UINT64_MAX;
	for (uint32_t t = 0; t < m->nr_tiers; t++) {
		struct model_tier *tier = &m->tier[t];

		tier->request = model_ns(b->ns[t] * (1 - data_leg) / 2);
		tier->snoop = tier->request;
		tier->data = model_ns(b->ns[t] * data_leg);
		if (t && tier->snoop < m->nearest)
			m->nearest = tier->snoop;
	}
}

static void crossings(struct builder *b)
{
	const struct machine_latency *lat = &b->m->machine->latency_ns;
	struct model *m = b->m;
	double home = 1;

	if (lat->home_remote > b->far && lat->remote > b->far)
		home = (lat->home_remote - b->far) / (lat->remote - b->far);
	for (uint32_t x = 0; x < m->nr_cores; x++) {
		for (uint32_t y = 0; y < m->nr_cores; y++) {
			uint32_t p = m->core[x].package, q = m->core[y].package;
			size_t at = (size_t)p * m->nr_packages + q;
			double ns;

			if (p == q || m->crossing[at])
				continue;
			ns = machine_pair_ns(m->machine, b->cpu[x], b->cpu[y]);
			if (ns <= b->far)
				continue;
			m->crossing[at] = model_ns((ns - b->far) / 2);
			m->home_crossing[at] = model_ns((ns - b->far) / 2 * home);
		}
	}
}

static void group_pairs(struct builder *b)
{
	struct model *m = b->m;

	for (uint32_t x = 0; x < m->nr_cores; x++) {
		for (uint32_t y = 0; y < m->nr_cores; y++) {
			uint32_t g = m->core[x].group, h = m->core[y].group;
			uint8_t *of = &m->group_pair[(size_t)g * m->nr_groups + h];
			uint32_t t = model_tier_between(m, x, y);

			if (x == y)
				continue;
			if (!*of || (g == h ? b->ns[t] > b->ns[*of] : b->ns[t] < b->ns[*of]))
				*of = (uint8_t)t;
		}
	}
}

int model_build_tiers(struct model *m, double data_leg)
{
	size_t packages = (size_t)m->nr_packages * m->nr_packages;
	struct builder b = { .m = m };
	int ret = -1;

	m->nr_tiers = 1; /* 0 is the core itself */
	m->pair = calloc((size_t)m->nr_cores * m->nr_cores, 1);
	m->group_pair = calloc((size_t)m->nr_groups * m->nr_groups, 1);
	m->crossing = calloc(packages, sizeof(*m->crossing));
	m->home_crossing = calloc(packages, sizeof(*m->home_crossing));
	b.cpu = calloc(m->nr_cores, sizeof(*b.cpu));
	if (!m->pair || !m->group_pair || !m->crossing || !m->home_crossing || !b.cpu)
		goto out;
	for (uint32_t i = 0; i < m->machine->topo.nr_cpus; i++)
		if (m->machine->topo.cpu[i].possible)
			b.cpu[m->machine->topo.cpu[i].core] = i;
	if (near_pairs(&b) || far_pairs(&b))
		goto out;
	legs(&b, data_leg);
	crossings(&b);
	group_pairs(&b);
	ret = 0;
out:
	free(b.cpu);
	return ret;
}
