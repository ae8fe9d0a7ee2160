// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The text is made from the JSON, so text and JSON agree. All figures except the time repeat
 * exactly from run to run.
 */
#include "explore_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore_symbols.h"

const char *x_model_name(enum x_model m)
{
	static const char *const names[] = { "sc", "tso", "posted", "weak" };

	return names[m];
}

const char *x_search_name(enum x_search s)
{
	static const char *const names[] = { "states", "brute" };

	return names[s];
}

static const char *operation(const struct x_event *ev)
{
	switch (ev->kind) {
	case X_LOAD:
		if (ev->old_value)
			return "load of an old value";
		return ev->ghost ? "look at" : ev->plain ? "plain load" : "load";
	case X_STORE:
		if (ev->ghost)
			return "note";
		if (ev->buffered)
			return ev->plain ? "plain store, buffered" : "store, buffered";
		return ev->plain ? "plain store" : "store";
	case X_RMW:
		return ev->buffered ? "atomic, buffered" : "locked";
	case X_CAS:
		return "compare-exchange";
	case X_FENCE:
		return "fence";
	default:
		return ev->posted ? "flush of atomic" : "flush";
	}
}

static json_t *hex(uint64_t val)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, val);
	return json_string(text);
}

static json_t *step(const struct x_event *ev, uint32_t nr, const struct x_symbol *sym)
{
	char object[64];
	json_t *j = json_object();

	json_object_set_new(j, "step", json_integer(nr));
	json_object_set_new(j, "cpu", json_integer(X_CPU(ev->proc)));
	json_object_set_new(j, "actor", json_string(X_IS_BUFFER(ev->proc) ? "buffer" : "program"));
	json_object_set_new(j, "operation", json_string(operation(ev)));
	if (ev->kind != X_FENCE) {
		x_object_name(ev->addr, object, sizeof(object));
		json_object_set_new(j, "object", json_string(object));
		json_object_set_new(j, "size", json_integer(ev->size));
		json_object_set_new(j, "value", hex(ev->val));
	}
	if ((ev->kind == X_RMW && !ev->buffered) || ev->kind == X_CAS || ev->posted)
		json_object_set_new(j, "old", hex(ev->old));
	json_object_set_new(j, "function", json_string(sym->function));
	json_object_set_new(j, "source", json_string(sym->source));
	return j;
}

static json_t *violation(const struct x_schedule *v)
{
	struct x_symbol *sym = calloc(v->nr_events + 1, sizeof(*sym));
	json_t *j = json_object(), *steps = json_array();

	if (!sym)
		abort();
	for (uint32_t i = 0; i < v->nr_events; i++)
		sym[i].pc = v->events[i].pc;
	x_symbols(sym, v->nr_events);
	for (uint32_t i = 0; i < v->nr_events; i++)
		json_array_append_new(steps, step(&v->events[i], i + 1, &sym[i]));
	free(sym);
	json_object_set_new(j, "message", json_string(v->failure.text));
	json_object_set_new(j, "cpu",
			    v->failure.cpu < 0 ? json_null() : json_integer(v->failure.cpu));
	json_object_set_new(j, "preemptions", json_integer(v->preemptions));
	json_object_set_new(j, "schedule", steps);
	return j;
}

static int by_results(const void *a, const void *b)
{
	const struct x_outcome *x = a, *y = b;

	for (uint32_t i = 0; i < EXPLORE_RESULTS; i++) {
		if (x->results[i] != y->results[i])
			return x->results[i] < y->results[i] ? -1 : 1;
	}
	return 0;
}

static json_t *outcomes(const struct x_run *run, const struct x_stats *s)
{
	json_t *list = json_array();

	if (s->nr_outcomes)
		qsort(s->outcomes, s->nr_outcomes, sizeof(*s->outcomes), by_results);
	for (uint32_t i = 0; i < s->nr_outcomes; i++) {
		json_t *o = json_object(), *values = json_object();

		for (uint32_t k = 0; k < EXPLORE_RESULTS && run->c->results[k]; k++)
			json_object_set_new(values, run->c->results[k],
					    json_integer((json_int_t)s->outcomes[i].results[k]));
		json_object_set_new(o, "results", values);
		json_object_set_new(o, "executions",
				    json_integer((json_int_t)s->outcomes[i].executions));
		json_array_append_new(list, o);
	}
	return list;
}

json_t *x_report(const struct x_run *run, const struct x_stats *s)
{
	uint32_t bound = run->options.preemptions;
	json_t *j = json_object();

	json_object_set_new(j, "case", json_string(run->c->name));
	json_object_set_new(j, "title", json_string(run->c->title));
	json_object_set_new(j, "kind", json_string(run->c->kind));
	json_object_set_new(j, "cpus", json_integer(run->nr_cpus));
	json_object_set_new(j, "model", json_string(x_model_name(run->model)));
	json_object_set_new(j, "search", json_string(x_search_name(run->options.search)));
	json_object_set_new(j, "preemption_bound",
			    bound == X_NO_BOUND ? json_null() : json_integer(bound));
	json_object_set_new(j, "verdict", json_string(s->failing ? "violation" : "clean"));
	json_object_set_new(j, "complete", json_boolean(s->complete));
	json_object_set_new(j, "executions", json_integer((json_int_t)s->executions));
	json_object_set_new(j, "cut", json_integer((json_int_t)s->cut));
	json_object_set_new(j, "failing", json_integer((json_int_t)s->failing));
	json_object_set_new(j, "transitions", json_integer((json_int_t)s->transitions));
	json_object_set_new(j, "states", json_integer((json_int_t)s->states));
	json_object_set_new(j, "max_steps", json_integer(s->max_steps));
	json_object_set_new(j, "distinct_outcomes", json_integer(s->nr_outcomes));
	json_object_set_new(j, "outcomes", outcomes(run, s));
	json_object_set_new(j, "seconds", json_real(run->seconds));
	json_object_set_new(j, "violation", s->shortest ? violation(s->shortest) : json_null());
	return j;
}

/* -------- text -------- */

static const char *str(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static long long num(const json_t *j, const char *key)
{
	return json_integer_value(json_object_get(j, key));
}

static void print_schedule(const json_t *v)
{
	const json_t *steps = json_object_get(v, "schedule"), *st;
	size_t i;

	printf("\nviolation: %s\n", str(v, "message"));
	printf("shortest failing schedule: %zu steps, %lld preemptions\n\n", json_array_size(steps),
	       num(v, "preemptions"));
	printf("%4s  %-5s %-22s %-24s %-22s %s\n", "step", "CPU", "operation", "object", "value",
	       "where");
	json_array_foreach(steps, i, st)
	{
		char cpu[16], value[48];

		snprintf(cpu, sizeof(cpu), "%lld", num(st, "cpu"));
		if (json_object_get(st, "old"))
			snprintf(value, sizeof(value), "%s -> %s", str(st, "old"),
				 str(st, "value"));
		else
			snprintf(value, sizeof(value), "%s", str(st, "value"));
		printf("%4lld  %-5s %-22s %-24s %-22s %s (%s)\n", num(st, "step"), cpu,
		       str(st, "operation"), str(st, "object"), value, str(st, "function"),
		       str(st, "source"));
	}
}

static void print_outcomes(const json_t *r)
{
	const json_t *o, *val;
	const char *key;
	size_t i;

	json_array_foreach(json_object_get(r, "outcomes"), i, o)
	{
		json_t *values = json_object_get(o, "results");

		if (!json_object_size(values))
			return;
		printf("  ");
		json_object_foreach(values, key, val)
			printf("%s=%lld ", key, (long long)json_integer_value(val));
		printf(" (%lld executions)\n", num(o, "executions"));
	}
}

void x_report_text(const json_t *r)
{
	const json_t *v = json_object_get(r, "violation");
	double seconds = json_real_value(json_object_get(r, "seconds"));
	const json_t *bound = json_object_get(r, "preemption_bound");
	char within[48] = "";

	if (json_is_integer(bound))
		snprintf(within, sizeof(within), ", at most %lld preemptions",
			 (long long)json_integer_value(bound));
	printf("%s: %s\n", str(r, "case"), str(r, "title"));
	printf("%lld CPUs, model %s, search %s%s: %s%s\n", num(r, "cpus"), str(r, "model"),
	       str(r, "search"), within, str(r, "verdict"),
	       json_is_true(json_object_get(r, "complete")) ? "" : " (search not complete)");
	printf("%lld executions, %lld cut, %lld failing, %lld transitions", num(r, "executions"),
	       num(r, "cut"), num(r, "failing"), num(r, "transitions"));
	if (num(r, "states"))
		printf(", %lld states", num(r, "states"));
	printf(", %lld distinct outcomes, %.2f s\n", num(r, "distinct_outcomes"), seconds);
	print_outcomes(r);
	if (json_is_object(v))
		print_schedule(v);
}
