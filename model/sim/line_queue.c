// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Which request gets a line next: the two rules are in docs/model.md ("Many CPUs, one line"). Why
 * they describe the hardware well:
 *
 * Writes: near ones first. A round is near_rounds times the number of writes that wait in a group
 * when the line enters the group. A package has a round in the same way, by the writes that wait in
 * the package. So a far request waits for at most one round of each group ahead of it. That bounds
 * the unfairness without a tuned number.
 *
 * Loads. A load does not move the line to another group, and so it needs no round.
 */
#include "line_queue.h"

#include <stdlib.h>

/* Writes or loads of one group that wait, in order of submission. */
struct fifo {
	uint32_t head, tail, n;
};

/**
 * struct line_queue - the waiting requests of a line, once there are two
 * @words: number of words of @writers, and of @readers
 * @writes: by group: its waiting writes
 * @loads: by group: its waiting loads
 * @readers: groups whose loads wait, bit = group; in memory behind @writers
 * @writers: groups whose writes wait, bit = group
 */
struct line_queue {
	uint32_t words;
	struct fifo *writes, *loads;
	uint64_t *readers;
	uint64_t writers[];
};

static void fifo_add(struct coherence *c, struct fifo *f, uint32_t req)
{
	c->req[req].next = NO_REQ;
	if (f->n++)
		c->req[f->tail].next = req;
	else
		f->head = req;
	f->tail = req;
}

static uint32_t fifo_take(struct coherence *c, struct fifo *f)
{
	uint32_t req = f->head;

	f->head = c->req[req].next;
	f->n--;
	return req;
}

static struct line_queue *queue_new(uint32_t groups)
{
	uint32_t words = (groups + 63) / 64;
	struct line_queue *q = calloc(1, sizeof(*q) + 2 * words * sizeof(q->writers[0]));

	if (!q)
		abort();
	q->words = words;
	q->readers = q->writers + words;
	q->writes = calloc(2 * (size_t)groups, sizeof(*q->writes));
	if (!q->writes)
		abort();
	q->loads = q->writes + groups;
	return q;
}

void line_queue_free(struct line *l)
{
	if (l->queue)
		free(l->queue->writes);
	free(l->queue);
}

static void add(struct coherence *c, struct line_queue *q, uint32_t req)
{
	uint32_t group = core_of(c, req)->group;

	bool write = c->req[req].write;

	fifo_add(c, write ? &q->writes[group] : &q->loads[group], req);
	(write ? q->writers : q->readers)[group / 64] |= 1ull << (group % 64);
}

void line_queue_add(struct coherence *c, struct line *l, uint32_t req)
{
	if (!l->pending++ && !l->queue) {
		l->solo = req;
		return;
	}
	if (!l->queue) {
		l->queue = queue_new(c->model->nr_groups);
		add(c, l->queue, l->solo);
		l->solo = NO_REQ;
	}
	add(c, l->queue, req);
}

uint32_t line_queue_writes(const struct line *l, uint32_t group)
{
	return l->queue ? l->queue->writes[group].n : 0;
}

static uint32_t take_write(struct coherence *c, struct line *l, uint32_t group)
{
	struct fifo *f = &l->queue->writes[group];
	uint32_t req = fifo_take(c, f);

	if (!f->n)
		l->queue->writers[group / 64] &= ~(1ull << (group % 64));
	l->pending--;
	return req;
}

static uint64_t arrival(const struct coherence *c, const struct fifo *f)
{
	return f->n ? c->req[f->head].arrival : UINT64_MAX;
}

/* For each set of groups, the group whose oldest write arrived first, or UINT32_MAX. */
struct heads {
	uint32_t any;	   /* among all groups */
	uint32_t near;	   /* among other groups of the gate's package */
	uint32_t far;	   /* among groups of other packages */
	uint64_t earliest; /* when the first of all writes arrives */
};

static struct heads look(const struct coherence *c, const struct line *l, uint64_t now)
{
	struct heads h = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT64_MAX };
	uint64_t any = UINT64_MAX, near = UINT64_MAX, far = UINT64_MAX;

	for (uint32_t w = 0; w < l->queue->words; w++) {
		for (uint64_t bits = l->queue->writers[w]; bits; bits &= bits - 1) {
			uint32_t group = w * 64 + (uint32_t)__builtin_ctzll(bits);
			uint64_t at = arrival(c, &l->queue->writes[group]);
			bool in_package = c->model->group_package[group] == l->turn.package;

			if (at < h.earliest)
				h.earliest = at;
			if (at > now)
				continue;
			if (at < any) {
				any = at;
				h.any = group;
			}
			if (in_package && group != l->turn.group && at < near) {
				near = at;
				h.near = group;
			}
			if (!in_package && at < far) {
				far = at;
				h.far = group;
			}
		}
	}
	return h;
}

static uint32_t waiting_in_package(const struct coherence *c, const struct line *l,
				   uint32_t package)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < l->queue->words; w++) {
		for (uint64_t bits = l->queue->writers[w]; bits; bits &= bits - 1) {
			uint32_t group = w * 64 + (uint32_t)__builtin_ctzll(bits);

			if (c->model->group_package[group] == package)
				n += l->queue->writes[group].n;
		}
	}
	return n;
}

static uint32_t round_of(const struct coherence *c, uint32_t waiting)
{
	return (uint32_t)(c->model->near_rounds * waiting);
}

static void count_down(uint32_t *left)
{
	if (*left)
		--*left;
}

/* The line enters @group: the writes that wait there now get a round. */
static void enter(const struct coherence *c, struct line *l, uint32_t group, bool package_too)
{
	if (package_too) {
		l->turn.package = c->model->group_package[group];
		l->turn.package_left = round_of(c, waiting_in_package(c, l, l->turn.package));
	}
	l->turn.group = group;
	l->turn.group_left = round_of(c, l->queue->writes[group].n);
}

/* The group whose oldest load arrives first; @at receives when, UINT64_MAX if none waits. */
static uint32_t first_load(const struct coherence *c, const struct line *l, uint64_t *at)
{
	const struct line_queue *q = l->queue;
	uint32_t first = UINT32_MAX;

	*at = UINT64_MAX;
	for (uint32_t w = 0; w < q->words; w++) {
		for (uint64_t bits = q->readers[w]; bits; bits &= bits - 1) {
			uint32_t group = w * 64 + (uint32_t)__builtin_ctzll(bits);
			uint64_t arrives = arrival(c, &q->loads[group]);

			if (arrives < *at) {
				*at = arrives;
				first = group;
			}
		}
	}
	return first;
}

static uint32_t take_load(struct coherence *c, struct line *l, uint32_t group)
{
	struct fifo *f = &l->queue->loads[group];
	uint32_t req = fifo_take(c, f);

	if (!f->n)
		l->queue->readers[group / 64] &= ~(1ull << (group % 64));
	l->pending--;
	return req;
}

static uint32_t take_solo(struct coherence *c, struct line *l, uint64_t now, uint64_t *earliest)
{
	uint32_t req = l->solo;

	*earliest = c->req[req].arrival;
	if (*earliest > now)
		return NO_REQ;
	l->solo = NO_REQ;
	l->pending = 0;
	return req;
}

uint32_t line_queue_take(struct coherence *c, struct line *l, uint64_t now, uint64_t *earliest)
{
	bool round, load;
	uint32_t reader;
	uint64_t loads;
	struct heads h;

	if (!l->queue)
		return take_solo(c, l, now, earliest);
	reader = first_load(c, l, &loads);
	round = l->turn.group_left && arrival(c, &l->queue->writes[l->turn.group]) <= now;
	if (round && loads > arrival(c, &l->queue->writes[l->turn.group])) {
		count_down(&l->turn.group_left);
		count_down(&l->turn.package_left);
		return take_write(c, l, l->turn.group);
	}
	if (round) /* a load is older */
		return take_load(c, l, reader);
	h = look(c, l, now);
	*earliest = loads < h.earliest ? loads : h.earliest;
	load = loads <= now;
	if (load && (h.any == UINT32_MAX || loads <= arrival(c, &l->queue->writes[h.any])))
		return take_load(c, l, reader);
	if (h.any == UINT32_MAX)
		return NO_REQ;
	if (l->turn.package_left && h.near != UINT32_MAX)
		enter(c, l, h.near, false);
	else /* the package has had its round: other packages first, if any wait */
		enter(c, l, c->model->near_rounds > 0 && h.far != UINT32_MAX ? h.far : h.any, true);
	count_down(&l->turn.group_left);
	count_down(&l->turn.package_left);
	return take_write(c, l, l->turn.group);
}
