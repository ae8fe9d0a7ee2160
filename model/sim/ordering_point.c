// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The ordering point of a line: how requests arrive, which one is picked, and how long its transfer
 * takes (line_latency()).
 *
 * A transaction blocks its line until it is complete. The ordering point picks a request at time g.
 * The owner gives the line up at
 *
 *	y = max(g + snoop, the end of the owner's first operation)
 *
 * The data arrives at x = y + data. The ordering point receives the acknowledgement at x +
 * acknowledgement, and picks again. So two cores that alternate need request + snoop + data per
 * transfer: the latency of the machine file. The new owner keeps the line for acknowledgement +
 * snoop, until the next snoop arrives. The owner performs as many operations as fit into that time.
 * That time, not the latency, limits a counter that many cores increment. An owner always completes
 * one operation; otherwise no core would make progress. The acknowledgement is uniform in [0, 2 x
 * mean], because cores repeat rejected requests at irregular times. A fixed time would resonate
 * with the duration of an operation.
 *
 * Groups (model.h) and the home. While a group has the line, its own ordering point serves its
 * cores, and the home takes no part. A request of another group goes to the home. The home handles
 * one request at a time, and its snoop waits at the owner's group.
 *
 * line_queue.c chooses the next request.
 *
 * Retries: the home rejects requests while it is busy, and cores send them again. The more requests
 * wait at the home, the longer it takes to give the line to another group (retry_ns per request).
 * Measurements of counters and of a read lock show this on 8 sockets, and on one large virtual
 * machine; for other machines retry_ns is 0.
 *
 * Loads of a group that has a copy do not need the home. They are served while the home fetches a
 * copy for another group.
 *
 * The directory: a core reads a line that a core of another package modified. The home then also
 * writes its directory, in memory, before it takes the next request. Measurements show this when
 * two packages alternate with a load and a locked operation: three latencies per turn, where two
 * cores of one package need two. docs/model.md names the performance counters of Intel that count
 * these writes, and rejections.
 */
#include "coherence.h"

#include "coherence_hit.h"
#include "line_queue.h"

/* ---- legs ---- */

/*
 * Extra time of a leg between packages. @home_only: both ends of the transfer are in one package.
 */
static inline uint64_t crossing(const struct model *m, uint32_t a, uint32_t b, bool home_only)
{
	size_t at = (size_t)a * m->nr_packages + b;

	return home_only ? m->home_crossing[at] : m->crossing[at];
}

/* Legs between cores of one group. */
static inline const struct model_tier *inside(const struct model *m, uint32_t group)
{
	return &m->tier[m->group_pair[(size_t)group * m->nr_groups + group]];
}

/* Uniform in [0, 2 x @mean]. */
static uint64_t spread(struct line *l, uint64_t mean)
{
	l->random = l->random * 1664525u + 1013904223u;
	return mean * (l->random >> 16) >> 15;
}

/* Are all copies of the line in this group? */
static bool only_in(const struct coherence *c, const struct line *l, uint32_t group)
{
	for (uint32_t w = 0; w < c->lines.copy_words; w++)
		if (l->copies[w] & ~(w == group / 64 ? 1ull << (group % 64) : 0))
			return false;
	return true;
}

static bool group_has_copy(const struct line *l, uint32_t group)
{
	return l->copies[group / 64] >> (group % 64) & 1;
}

/* Does the core's group order the request, without the home? */
static bool ordered_by(const struct coherence *c, const struct line *l,
		       const struct model_core *core, bool write)
{
	if (l->owner != NO_CORE)
		return c->model->core[l->owner].group == core->group;
	if (!l->shared)
		return false;
	return write ? only_in(c, l, core->group) : group_has_copy(l, core->group);
}

static uint64_t request_leg(const struct coherence *c, const struct line *l, uint32_t me,
			    bool write)
{
	const struct model *m = c->model;
	const struct model_core *core = &m->core[me];
	bool home_only = false;
	uint64_t leg;

	if (ordered_by(c, l, core, write))
		return l->owner == me	     ? 0
		       : l->owner != NO_CORE ? m->tier[model_tier_between(m, me, l->owner)].request
					     : inside(m, core->group)->request;
	if (l->owner != NO_CORE) {
		home_only = m->core[l->owner].package == core->package;
		leg = m->tier[model_tier_between(m, me, l->owner)].request;
	} else {
		leg = m->tier[m->nr_tiers - 1].request;
	}
	return leg + crossing(m, core->package, l->home.package, home_only);
}

static uint64_t snoop_leg(const struct coherence *c, const struct line *l, uint32_t owner,
			  uint32_t me)
{
	const struct model *m = c->model;
	const struct model_core *from = &m->core[owner], *to = &m->core[me];
	uint64_t leg = m->tier[model_tier_between(m, owner, me)].snoop;

	if (from->group == to->group)
		return leg;
	return leg + crossing(m, from->package, l->home.package, from->package == to->package);
}

static uint64_t data_leg(const struct coherence *c, uint32_t owner, uint32_t me)
{
	const struct model *m = c->model;

	return m->tier[model_tier_between(m, owner, me)].data +
	       crossing(m, m->core[owner].package, m->core[me].package, false);
}

/*
 * Return snoop + acknowledgement of the copy that is farthest from (write) or nearest to (read)
 * @core.
 * @snoop: receives the snoop leg of the farthest copy
 */
static uint64_t copies_leg(const struct coherence *c, const struct line *l,
			   const struct model_core *core, bool farthest, uint64_t *snoop)
{
	const struct model *m = c->model;
	uint64_t best = farthest ? 0 : UINT64_MAX;

	*snoop = 0;

	for (uint32_t w = 0; w < c->lines.copy_words; w++) {
		for (uint64_t bits = l->copies[w]; bits; bits &= bits - 1) {
			uint32_t group = w * 64 + (uint32_t)__builtin_ctzll(bits);
			uint32_t package = m->group_package[group];
			const struct model_tier *t =
				&m->tier[m->group_pair[(size_t)core->group * m->nr_groups + group]];
			uint64_t there = t->snoop, leg;

			if (group != core->group)
				there += crossing(m, package, l->home.package,
						  package == core->package);
			leg = there + t->data;
			if (group != core->group)
				leg += crossing(m, package, core->package, false);
			if (there > *snoop)
				*snoop = there;
			if (farthest ? leg > best : leg < best)
				best = leg;
		}
	}
	return best;
}

/* ---- transfers ---- */

/* The times that the pick of a request determines. */
struct grant {
	uint64_t let_go; /* when all other cores have given up the line */
	uint64_t data;	 /* the data arrives */
	uint64_t done;	 /* when the ordering point takes the next request */
	uint64_t home_done;
	enum source source;
};

/* Time that the home spends on requests from outside @group, which it rejects repeatedly. */
static uint64_t retries(const struct coherence *c, const struct line *l, uint32_t group)
{
	return (l->pending - line_queue_writes(l, group)) * c->model->retry;
}

/* Compute the transfer from the core that owns the line. */
static void from_owner(struct coherence *c, struct line *l, const struct request *r, uint32_t me,
		       uint64_t now, struct grant *g)
{
	const struct model *m = c->model;
	const struct model_core *core = &m->core[me], *owner = &m->core[l->owner];
	bool near = owner->group == core->group;
	const struct model_tier *t = &m->tier[model_tier_between(m, me, l->owner)];

	if (near) {
		g->let_go = now + t->snoop;
	} else {
		/* The home's snoop reached the group while the group served its own cores. */
		uint64_t since = r->arrival > l->home.free_at ? r->arrival : l->home.free_at;
		uint64_t there = since + snoop_leg(c, l, l->owner, me);

		g->let_go = now + inside(m, owner->group)->snoop;
		if (g->let_go < there)
			g->let_go = there;
	}
	if (g->let_go < l->first_done)
		g->let_go = l->first_done;
	g->data = g->let_go + data_leg(c, l->owner, me);
	if (!near)
		g->data += retries(c, l, owner->group);
	if (near) {
		g->done = g->data + spread(l, t->request);
	} else {
		g->done = g->data + spread(l, inside(m, core->group)->request);
		g->home_done = g->data + spread(l, t->request) +
			       crossing(m, core->package, l->home.package,
					core->package == owner->package);
	}
	if (!l->dirty)
		g->source = SOURCE_CLEAN;
	else if (owner->node == core->node)
		g->source = SOURCE_HITM_LOCAL;
	else
		g->source = SOURCE_HITM_REMOTE;
	if (l->dirty && !r->write && owner->package != core->package)
		g->home_done +=
			(uint64_t)(m->directory *
				   (double)(t->request + t->snoop + t->data +
					    2 * crossing(m, owner->package, core->package, false)));
}

/* Compute the transfer of a line without an owner; other cores may have unmodified copies. */
static void from_copies(struct coherence *c, struct line *l, const struct request *r,
			const struct model_core *core, uint64_t now, struct grant *g)
{
	const struct model *m = c->model;
	uint64_t ack = spread(l, inside(m, core->group)->request), picked = now, snoop;

	g->source = SOURCE_CLEAN;
	if (!r->write && group_has_copy(l, core->group)) {
		g->let_go = now + m->read_occupancy;
		g->data = now + m->l3_hit;
		if (l->home.fetching_group == core->group && g->data < l->home.fetched_at)
			g->data = l->home.fetched_at;
		g->done = g->let_go;
		return;
	}
	if (!r->write || !only_in(c, l, core->group)) {
		if (now < l->home.free_at)
			now = l->home.free_at;
		g->data =
			now + copies_leg(c, l, core, r->write, &snoop) + retries(c, l, core->group);
		g->home_done = g->data + ack + crossing(m, core->package, l->home.package, false);
	} else {
		g->data = now + copies_leg(c, l, core, true, &snoop);
	}
	if (r->write) {
		g->let_go = now + snoop;
		g->done = g->data + ack;
		return;
	}
	/* Meanwhile groups with a copy serve their own loads. */
	l->home.fetching_group = core->group;
	l->home.fetched_at = g->data;
	g->let_go = g->done = picked + m->read_occupancy;
}

/*
 * Compute the times of an operation that the home executes: it takes the line from the cores that
 * have it.
 */
static void at_home(const struct coherence *c, const struct line *l, uint32_t me, uint64_t now,
		    struct grant *g)
{
	const struct model *m = c->model;
	const struct model_core *core = &m->core[me];
	uint64_t snoop;

	g->source = SOURCE_CLEAN;
	g->let_go = now;
	g->data = now;
	if (l->owner != NO_CORE) {
		g->let_go = now + snoop_leg(c, l, l->owner, me);
		if (g->let_go < l->first_done)
			g->let_go = l->first_done;
		g->data = g->let_go + data_leg(c, l->owner, me);
		g->source = m->core[l->owner].node == core->node ? SOURCE_HITM_LOCAL
								 : SOURCE_HITM_REMOTE;
	} else if (l->shared) {
		g->data = now + copies_leg(c, l, core, true, &snoop);
		g->let_go = now + snoop;
	}
	g->data += m->far;
	g->done = g->home_done = g->data;
}

/*
 * Compute the latency of @req, picked at @now: when all other cores give the line up, and when the
 * data arrives. The state changes at the handover, in coherence_settle().
 */
static void line_latency(struct coherence *c, struct line *l, uint32_t req, uint64_t now)
{
	const struct model *m = c->model;
	struct request *r = &c->req[req];
	uint32_t me = m->cpu[req / 2].core;
	const struct model_core *core = &m->core[me];
	struct grant g = { 0 };

	/* If no other core uses the line, the core takes it. */
	if (l->owner == me || l->home.far_core == me ||
	    (l->owner == NO_CORE && !l->shared && !l->home.has_line))
		r->far = false;
	if (l->owner == me) {
		/* A sibling has the line, or the CPU's other request has fetched it meanwhile. */
		g.let_go = now > l->first_done ? now : l->first_done;
		g.data = g.let_go;
		if (l->writer != req / 2 && m->smt > r->op)
			g.data += m->smt - r->op;
		g.done = g.data;
		g.source = SOURCE_HIT;
	} else if (r->far) {
		at_home(c, l, me, now, &g);
	} else if (l->owner != NO_CORE) {
		from_owner(c, l, r, me, now, &g);
	} else if (l->shared) {
		from_copies(c, l, r, core, now, &g);
	} else {
		g.let_go = now + m->read_occupancy;
		g.data = now + (l->home.has_line ? m->l3_hit : m->memory) +
			 crossing(m, core->package, l->home.package, false);
		g.done = g.home_done = g.data;
		g.source = l->home.has_line ? SOURCE_CLEAN : SOURCE_MEMORY;
	}
	if (l->owner != NO_CORE)
		l->lose_at = g.let_go;
	r->source = (uint8_t)g.source;
	r->granted = g.data;
	l->current = req;
	l->free_at = g.done;
	if (g.home_done > l->home.free_at)
		l->home.free_at = g.home_done;
	l->let_go = g.let_go;
	events_push(&c->events, g.data, req & 1 ? EVENT_COMMIT : EVENT_RESUME, req / 2);
}

/* Schedule a pick at @at, unless an earlier one is scheduled. */
static void schedule_pick(struct coherence *c, struct line *l, uint32_t line, uint64_t at)
{
	if (at >= l->pick_at)
		return;
	l->pick_at = at;
	events_push(&c->events, at, EVENT_PICK, line);
}

/* ---- requests ---- */

void ordering_pick(struct coherence *c, uint32_t line, uint64_t now)
{
	struct line *l = line_of(c, line);
	uint64_t earliest;
	uint32_t req;

	/* A later schedule_pick() chose an earlier time. */
	if (now != l->pick_at)
		return;
	l->pick_at = NEVER;
	coherence_settle(c, l, line, now);
	if (!l->pending)
		return;
	req = line_queue_take(c, l, now, &earliest);
	if (req == NO_REQ)
		schedule_pick(c, l, line, earliest);
	else
		line_latency(c, l, req, now);
	if (req != NO_REQ && l->pending)
		schedule_pick(c, l, line, l->free_at);
}

void ordering_submit(struct coherence *c, uint32_t req, uint32_t line, bool write, bool far,
		     uint64_t op, uint64_t now)
{
	struct line *l = line_of(c, line);
	struct request *r = &c->req[req];
	uint32_t core = c->model->cpu[req / 2].core;

	if (write && l->constant)
		coherence_not_constant(line);
	coherence_settle(c, l, line, now);
	r->line = line;
	r->write = write;
	r->far = far;
	r->op = op;
	r->active = true;
	r->parked = 0;
	r->arrival = now + request_leg(c, l, core, write);
	line_queue_add(c, l, req);
	schedule_pick(c, l, line, r->arrival > l->free_at ? r->arrival : l->free_at);
}
