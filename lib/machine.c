// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Reads the flat form of a machine file.
 *
 * Why queries of an accepted machine read no array past its end: ids of CPUs are 0 or more, and a
 * level has one unit more than its highest id. A tier has exactly as many groups as its level has
 * units. A tier counts the units of the CPUs before it, so a CPU after a tier is refused.
 *
 * The words of names and titles stay in the text that was read, which the machine owns.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"
#include "machine.h"

#define FIRST_LINE "schedshard-machine 1"

enum { MAX_BYTES = 1 << 20, MAX_PARAMS = 64, MAX_TIERS = 16 };

struct owned {
	struct machine machine; /* the first member, so that machine_free() finds the others */
	char *text;
	struct shard_cpu *cpu;
	struct machine_param param[MAX_PARAMS];
	struct machine_tier tier[MAX_TIERS];
	u32 *groups[MAX_TIERS];
};

/* Takes the next word from *line, which then begins after it; NULL if there is none. */
static char *word(char **line)
{
	char *first = strsep(line, " ");

	return first && *first ? first : NULL;
}

static bool number(char **line, double *value)
{
	char *text = word(line), *end;

	if (!text)
		return false;
	*value = strtod(text, &end);
	return !*end && *value >= 0 && *value <= 1e9;
}

/* Reads a whole number that counts or names parts of the machine. */
static bool whole(char **line, u32 *value)
{
	double read;

	if (!number(line, &read) || read > SHARD_LIB_MAX_CPUS || read != (u32)read)
		return false;
	*value = (u32)read;
	return true;
}

/* A named number of a table: a key, and where its value goes. */
struct entry {
	const char *key;
	double *value;
};

static bool entry(char **line, const struct entry *entries, size_t nr)
{
	const char *key = word(line);

	for (size_t i = 0; key && i < nr; i++) {
		if (!strcmp(key, entries[i].key))
			return number(line, entries[i].value);
	}
	return false;
}

static bool latency(struct owned *o, char **line)
{
	struct machine_latency *lat = &o->machine.latency_ns;
	const struct entry entries[] = {
		{ "smt", &lat->smt },	    { "llc", &lat->llc },
		{ "node", &lat->node },	    { "package", &lat->package },
		{ "remote", &lat->remote }, { "home_remote", &lat->home_remote },
		{ "memory", &lat->memory },
	};

	return entry(line, entries, sizeof(entries) / sizeof(entries[0]));
}

static bool operation(struct owned *o, char **line)
{
	struct machine_ops *ops = &o->machine.op_cycles;
	double buffer = ops->store_buffer;
	const struct entry entries[] = {
		{ "load_hit", &ops->load_hit },	  { "store", &ops->store },
		{ "locked", &ops->locked },	  { "fence", &ops->fence },
		{ "timestamp", &ops->timestamp }, { "store_buffer", &buffer },
	};
	bool known = entry(line, entries, sizeof(entries) / sizeof(entries[0]));

	ops->store_buffer = (u32)buffer;
	return known;
}

static bool protocol(struct owned *o, char **line)
{
	struct machine_param *param = &o->param[o->machine.nr_protocol];

	if (o->machine.nr_protocol == MAX_PARAMS)
		return false;
	param->key = word(line);
	o->machine.nr_protocol++;
	return param->key && number(line, &param->value);
}

static void raise_to(u32 *count, u32 id)
{
	if (*count <= id)
		*count = id + 1;
}

static bool cpu(struct owned *o, char **line)
{
	struct machine *m = &o->machine;
	u32 nr, package, node, llc, l2, core, thread;

	if (m->nr_tiers || !whole(line, &nr) || !whole(line, &package) || !whole(line, &node) ||
	    !whole(line, &llc) || !whole(line, &l2) || !whole(line, &core) ||
	    !whole(line, &thread) || nr >= SHARD_LIB_MAX_CPUS || o->cpu[nr].possible)
		return false;
	o->cpu[nr] = (struct shard_cpu){ (s32)package, (s32)node,   (s32)llc,	     (s32)l2,
					 (s32)core,    (s32)thread, .possible = true };
	m->nr_cpus++;
	raise_to(&m->topo.nr_cpus, nr);
	raise_to(&m->nr_packages, package);
	raise_to(&m->nr_nodes, node);
	raise_to(&m->nr_llcs, llc);
	raise_to(&m->nr_cores, core);
	return true;
}

static bool tier(struct owned *o, char **line)
{
	static const char *const units[] = { "cores", "llcs", "nodes", "packages" };
	struct machine *m = &o->machine;
	const u32 nr_units[] = { m->nr_cores, m->nr_llcs, m->nr_nodes, m->nr_packages };
	struct machine_tier *made = &o->tier[m->nr_tiers];
	const char *unit;
	u32 at = 0, nr, *group;

	if (m->nr_tiers == MAX_TIERS)
		return false;
	made->name = word(line);
	unit = word(line);
	while (unit && at < 4 && strcmp(unit, units[at]))
		at++;
	if (!unit || at == 4 || !whole(line, &made->count) || !number(line, &made->ns))
		return false;
	made->unit = (enum machine_unit)at;
	nr = nr_units[at];
	group = calloc(nr + 1, sizeof(*group));
	o->groups[m->nr_tiers] = group;
	made->group = group;
	m->nr_tiers++;
	for (u32 i = 0; group && i < nr; i++) {
		if (!whole(line, &group[i]))
			return false;
	}
	return group;
}

/* Reads one line. A name or a title is the rest of its line. */
static bool fact(struct owned *o, char *line)
{
	const char *kind = word(&line);

	if (!kind || !line)
		return false;
	if (!strcmp(kind, "name") || !strcmp(kind, "title")) {
		*(*kind == 'n' ? &o->machine.name : &o->machine.title) = line;
		return *line;
	}
	if (!strcmp(kind, "clock_ghz")	  ? !number(&line, &o->machine.clock_ghz)
	    : !strcmp(kind, "latency_ns") ? !latency(o, &line)
	    : !strcmp(kind, "op_cycles")  ? !operation(o, &line)
	    : !strcmp(kind, "protocol")	  ? !protocol(o, &line)
	    : !strcmp(kind, "cpu")	  ? !cpu(o, &line)
					  : strcmp(kind, "tier") || !tier(o, &line))
		return false;
	return !line;
}

static bool complete(const struct machine *m)
{
	return m->name && m->title && m->nr_cpus && m->clock_ghz > 0 && m->latency_ns.memory > 0 &&
	       m->op_cycles.store_buffer;
}

static int parse(struct owned *o, const char *path, struct shard_err *err)
{
	struct machine *m = &o->machine;
	char *rest = o->text, *line = strsep(&rest, "\n");
	u32 nr = 1;

	if (!line || strcmp(line, FIRST_LINE))
		return shard_err_set(err, -EINVAL,
				     "%s: is not a machine in its flat form: it must begin '%s'",
				     path, FIRST_LINE);
	while ((line = strsep(&rest, "\n")) && (rest || *line)) {
		nr++;
		if (!fact(o, line))
			return shard_err_set(err, -EINVAL, "%s:%u: is no line of the flat form",
					     path, nr);
	}
	if (!complete(m))
		return shard_err_set(err, -EINVAL, "%s: the machine is incomplete", path);
	m->topo.cpu = o->cpu;
	m->protocol = o->param;
	m->tier = o->tier;
	return 0;
}

int machine_load(struct machine **machine, const char *path, struct shard_err *err)
{
	struct owned *o = calloc(1, sizeof(*o));
	size_t len;
	int ret;

	if (!o)
		return shard_err_set(err, -ENOMEM, "%s: out of memory", path);
	o->cpu = calloc(SHARD_LIB_MAX_CPUS, sizeof(*o->cpu));
	if (!o->cpu)
		ret = shard_err_set(err, -ENOMEM, "%s: out of memory", path);
	else
		ret = shard_read_file(path, MAX_BYTES, &o->text, &len, err);
	if (!ret)
		ret = parse(o, path, err);
	if (ret)
		machine_free(&o->machine);
	else
		*machine = &o->machine;
	return ret;
}

void machine_free(struct machine *machine)
{
	struct owned *o = (struct owned *)machine;

	if (!o)
		return;
	for (u32 i = 0; i < machine->nr_tiers; i++)
		free(o->groups[i]);
	free(o->cpu);
	free(o->text);
	free(o);
}

double machine_protocol(const struct machine *machine, const char *key, double absent)
{
	for (u32 i = 0; i < machine->nr_protocol; i++) {
		if (!strcmp(machine->protocol[i].key, key))
			return machine->protocol[i].value;
	}
	return absent;
}
