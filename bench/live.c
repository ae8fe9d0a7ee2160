// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard-live: measures what the operations of model/primitives/ cost on the CPUs of this host.
 *
 * Errors are one line on stderr and exit status 2 (wrong request) or 1. The program writes JSON
 * once, at the end, so after an error there is no JSON. printf() can write it, because no text in
 * it needs escaping. The trial links the program statically.
 */
#include "live.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live_options.h"
#include "schedshard.h"

/* Seconds beyond the limit after which a turn counts as stuck. */
#define PATIENCE 60u

static bool shown;

static void print_progress(double share)
{
	static int last = -1;
	int percent = (int)(share * 100);

	if (!shown || percent <= last)
		return;
	last = percent;
	fprintf(stderr, "progress %d 100\n", percent);
	fflush(stderr);
}

static void stuck(int signal)
{
	static const char said[] = "schedshard-live: a measurement did not end: this host is too "
				   "busy, or a CPU went offline\n";
	ssize_t ignored = write(STDERR_FILENO, said, sizeof(said) - 1);

	(void)ignored;
	_exit(1);
}

static u32 position(struct live_list *list, u32 value)
{
	for (u32 i = 0; i < list->nr; i++)
		if (list->value[i] == value)
			return i;
	live_list_add(list, value);
	return list->nr - 1;
}

/* Return each CPU of --pairs or --cpus once, in the order of first appearance. */
static struct live_list crew_cpus(const struct live_options *o)
{
	const struct live_list *from = o->ping_pong ? &o->pairs : &o->cpus;
	struct live_list cpus = { 0 };

	for (u32 i = 0; i < from->nr; i++)
		position(&cpus, from->value[i]);
	return cpus;
}

static void add_point(struct live *live, struct live_point point)
{
	struct live_point *grown =
		realloc(live->point, (live->nr_points + 1) * sizeof(*live->point));

	if (!grown)
		exit(complain(1, "out of memory"));
	live->point = grown;
	live->point[live->nr_points++] = point;
}

static void add_points(const struct live_options *o, struct live *live, struct live_list *cpus)
{
	for (const struct ping_pong *w = ping_pongs; o->ping_pong && w->name; w++)
		for (u32 i = 0; i < o->pairs.nr && live_chosen(o->ops, w->name); i += 2)
			add_point(live,
				  (struct live_point){
					  .way = w,
					  .nr = 2,
					  .member = { position(cpus, o->pairs.value[i]),
						      position(cpus, o->pairs.value[i + 1]) } });
	for (const struct primitive *const *p = primitives; !o->ping_pong && *p; p++) {
		if (!live_chosen(o->ops, (*p)->name) || (o->hold && !(*p)->holds))
			continue;
		for (u32 i = 0; i < o->threads.nr; i++)
			add_point(live, (struct live_point){ .primitive = *p,
							     .nr = o->threads.value[i] });
	}
}

/* Print a member with a time in ns; six digits are more than any clock resolves. */
static void print_ns(const char *name, double value)
{
	printf(",\"%s\":%.6g", name, value);
}

static const char *point_name(const struct live_point *p)
{
	return p->way ? p->way->name : p->primitive->name;
}

static void print_point(const struct live *live, const struct live_point *p)
{
	struct live_summary s = live_summary(p);

	if (p->way)
		printf("{\"from\":%u,\"to\":%u", live->cpu[p->member[0]], live->cpu[p->member[1]]);
	else
		printf("{\"threads\":%u", p->nr);
	print_ns("ns_per_op", s.median.ns);
	if (!p->way) {
		print_ns("min", s.median.min);
		print_ns("max", s.median.max);
		if (p->spins)
			printf(",\"hold_spins\":%llu", (unsigned long long)p->spins);
	}
	print_ns("low", s.low);
	print_ns("high", s.high);
	printf(",\"rounds\":%u,\"disturbed\":%u,\"all_disturbed\":%s}", s.rounds, s.disturbed,
	       s.median.disturbed ? "true" : "false");
}

static int printed(void)
{
	if (fflush(stdout) || ferror(stdout))
		return complain(1, "cannot write to stdout: %s", strerror(errno));
	return 0;
}

static int print_result(const struct live *live)
{
	const char *last = "", *between = "";
	u32 left_out = 0;

	printf("{\"compiler\":\"%s\",\"variants\":[", __VERSION__);
	for (u32 i = 0; i < live->nr_points; i++) {
		const struct live_point *p = &live->point[i];

		if (strcmp(point_name(p), last)) {
			printf("%s{\"name\":\"%s\",\"title\":\"%s\",\"points\":[",
			       *last ? "]}," : "", point_name(p),
			       p->way ? p->way->what : p->primitive->what);
			last = point_name(p);
			between = "";
		}
		if (p->nr_samples) {
			fputs(between, stdout);
			print_point(live, p);
			between = ",\n ";
		} else {
			left_out++;
		}
	}
	printf("%s],\"left_out\":%u}\n", *last ? "]}" : "", left_out);
	return printed();
}

static int print_list(void)
{
	printf("{\"ping-pong\":[");
	for (const struct ping_pong *w = ping_pongs; w->name; w++)
		printf("%s{\"name\":\"%s\",\"what\":\"%s\"}", w == ping_pongs ? "" : ",\n ",
		       w->name, w->what);
	printf("],\n\"primitives\":[");
	for (const struct primitive *const *p = primitives; *p; p++)
		printf("%s{\"name\":\"%s\",\"what\":\"%s\",\"holds\":%s}",
		       p == primitives ? "" : ",\n ", (*p)->name, (*p)->what,
		       (*p)->holds ? "true" : "false");
	puts("]}");
	return printed();
}

/*
 * Check that all CPUs are in the affinity of the program. A thread could leave that affinity, but
 * should respect it.
 */
static int check_allowed(const struct live *live)
{
	size_t size = CPU_ALLOC_SIZE(SHARD_MAX_CPUS);
	cpu_set_t *set = CPU_ALLOC(SHARD_MAX_CPUS);
	int ret = 0;

	if (!set || sched_getaffinity(0, size, set))
		ret = complain(1, "the affinity cannot be read: %s", strerror(errno));
	for (u32 i = 0; !ret && i < live->nr_cpus; i++)
		if (!CPU_ISSET_S(live->cpu[i], size, set))
			ret = complain(2, "CPU %u is offline, or this process may not use it",
				       live->cpu[i]);
	CPU_FREE(set);
	return ret;
}

static bool has_node(const struct shard_topo *topo, int node)
{
	for (u32 i = 0; i < topo->nr_cpus; i++)
		if (topo->cpu[i].possible && topo->cpu[i].node == node)
			return true;
	return false;
}

static int read_host(struct live *live, struct shard_topo **topo, struct shard_plan **plan)
{
	struct shard_err err;
	enum shard_plan_err plan_err;

	if (shard_topo_from_sysfs(topo, "/", &err))
		return complain(1, "%s", err.text);
	for (u32 i = 0; i < 2; i++) {
		const struct shard_plan_opts opts = { .cap = i ? SHARD_CAP_POOL : SHARD_CAP_LOCKED,
						      .cores = i };

		plan_err = shard_plan_build(&plan[i], *topo, &opts);
		if (plan_err)
			return complain(1, "no shard plan: %s", shard_plan_strerror(plan_err));
	}
	live->plan = plan[0];
	live->pools = plan[1];
	if (live->home >= 0 && !has_node(*topo, live->home))
		return complain(2, "this host has no NUMA node %d", live->home);
	for (u32 i = 0; i < live->nr_cpus; i++) {
		u32 cpu = live->cpu[i];

		if (cpu >= (*topo)->nr_cpus || !(*topo)->cpu[cpu].possible)
			return complain(2, "this host has no CPU %u", cpu);
		live->node[i] = (*topo)->cpu[cpu].node;
	}
	return 0;
}

static int start_crew(struct live *live)
{
	int error;
	u32 at;

	live->crew = crew_new(live->cpu, live->nr_cpus, &error, &at);
	if (live->crew)
		return 0;
	if (error == EINVAL)
		return complain(2, "CPU %u is offline, or this process may not use it", at);
	return complain(1, "no thread on CPU %u: %s", at, strerror(error));
}

static int measure(const struct live_options *o)
{
	struct live_list cpus = crew_cpus(o);
	struct live live = { .cpu = cpus.value,
			     .nr_cpus = cpus.nr,
			     .node = calloc(cpus.nr + 1, sizeof(int)),
			     .hold_ns = o->hold,
			     .work_ns = o->work,
			     .lines = o->lines,
			     .home = o->has_home ? (int)o->home : -1,
			     .repeats = o->repeats,
			     .limit_ns = o->limit * 1e9,
			     .progress = print_progress };
	struct shard_topo *topo = NULL;
	struct shard_plan *plan[2] = { NULL, NULL };
	int ret;

	if (!live.node) {
		free(cpus.value);
		return complain(1, "out of memory");
	}
	add_points(o, &live, &cpus);
	ret = read_host(&live, &topo, plan);
	if (!ret)
		ret = check_allowed(&live);
	if (!ret)
		ret = start_crew(&live);
	if (!ret)
		ret = live_measure(&live);
	alarm(0);
	crew_free(live.crew);
	if (!ret)
		ret = print_result(&live);
	for (u32 i = 0; i < live.nr_points; i++)
		free(live.point[i].sample);
	free(live.point);
	free(live.node);
	free(cpus.value);
	shard_plan_free(plan[0]);
	shard_plan_free(plan[1]);
	shard_topo_free(topo);
	return ret;
}

int main(int argc, char **argv)
{
	struct live_options o;
	int ret;

	live_options_parse(&o, argc, argv);
	shown = o.progress;
	if (!o.list) {
		signal(SIGALRM, stuck);
		alarm(o.limit + PATIENCE);
	}
	ret = o.list ? print_list() : measure(&o);
	live_options_free(&o);
	return ret;
}
