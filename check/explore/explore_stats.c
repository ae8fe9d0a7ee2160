// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Shared by the searches: counts executions, distinguishes outcomes, and keeps the failing
 * execution that is easiest to read. Fewer preemptions are easier than fewer steps, because a
 * reader must remember each preemption.
 */
#include "explore_search.h"

#include <stdlib.h>
#include <string.h>

uint32_t x_count_preemptions(const struct x_event *events, uint32_t nr_events)
{
	uint32_t last_step[EXPLORE_MAX_CPUS] = { 0 };
	uint32_t n = 0;
	int cpu = -1;

	for (uint32_t i = 0; i < nr_events; i++) {
		if (!X_IS_BUFFER(events[i].proc))
			last_step[events[i].proc] = i;
	}
	for (uint32_t i = 0; i < nr_events; i++) {
		int c = events[i].proc;

		/*
		 * Flushes are no switches, because the hardware performs them. Neither is a step
		 * that touches nothing shared: it belongs to what its CPU did before.
		 */
		if (X_IS_BUFFER(c) || events[i].touch == X_TOUCH_NONE)
			continue;
		if (cpu >= 0 && c != cpu && last_step[cpu] > i)
			n++;
		n += events[i].old_value;
		cpu = c;
	}
	return n;
}

static void note_outcome(struct x_stats *s)
{
	const uint64_t *r = x_results();
	struct x_outcome *o;

	/* The newest outcome first: consecutive executions mostly have the same outcome. */
	for (uint32_t i = s->nr_outcomes; i-- > 0;) {
		if (!memcmp(s->outcomes[i].results, r, sizeof(s->outcomes[i].results))) {
			s->outcomes[i].executions++;
			return;
		}
	}
	/* The array doubles whenever the count reaches a power of two. */
	if (!(s->nr_outcomes & (s->nr_outcomes - 1))) {
		uint32_t room = s->nr_outcomes ? 2 * s->nr_outcomes : 1;

		s->outcomes = realloc(s->outcomes, room * sizeof(*s->outcomes));
		if (!s->outcomes)
			abort();
	}
	o = &s->outcomes[s->nr_outcomes++];
	memcpy(o->results, r, sizeof(o->results));
	o->executions = 1;
}

static void note_failure(struct x_stats *s, const struct x_event *events, uint32_t nr_events)
{
	const struct x_failure *f = x_failure();
	uint32_t preemptions = x_count_preemptions(events, nr_events);
	struct x_schedule *best = s->shortest;

	s->failing++;
	if (!best) {
		best = malloc(sizeof(*best));
		if (!best)
			abort();
		s->shortest = best;
	} else if (preemptions > best->preemptions ||
		   (preemptions == best->preemptions && f->steps >= best->nr_events)) {
		return;
	}
	best->failure = *f;
	best->preemptions = preemptions;
	best->nr_events = f->steps;
	memcpy(best->events, events, f->steps * sizeof(*events));
}

void x_note_end(struct x_stats *s, const struct x_event *events, uint32_t nr_events)
{
	s->executions++;
	if (nr_events > s->max_steps)
		s->max_steps = nr_events;
	if (x_failure()->found)
		note_failure(s, events, nr_events);
	note_outcome(s);
}

void x_note_cut(struct x_stats *s, const struct x_event *events, uint32_t nr_events)
{
	s->cut++;
	if (x_failure()->found)
		note_failure(s, events, nr_events);
}

void x_stats_free(struct x_stats *s)
{
	free(s->outcomes);
	free(s->shortest);
	memset(s, 0, sizeof(*s));
}
