// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why this is a fair picture of the hardware, and where it is not:
 *
 * A line is in one of three states. Owned: one core has it exclusively, modified or not.
 * Shared: any number of cores have unmodified copies. Uncached. A copy is a pair (line,
 * version) in the core's table, and is valid while the line's version is the same: a write
 * raises the version, which invalidates all copies at once without visiting 4,096 cores.
 *
 * All requests for a line pass its ordering point one at a time. A request picked at g makes
 * the owner let go at
 *
 *	y = max(g + snoop, the owner's own first operation is done)
 *
 * (an owner is never robbed before it used the line once: otherwise nobody would ever make
 * progress; until y it goes on hitting with whatever it can complete), the data arrives at x
 * = y + data leg, and the ordering point picks again at y. The new owner is then snooped
 * while its data is still under way, so that with a queue each request costs max(snoop, data
 * leg + operation), and without one the full latency. A request of another LLC is snooped
 * for while the LLC that has the line serves its own, see snooped_since().
 *
 * Near first, with a bound: when the line enters an LLC, those of that LLC who wait at that
 * moment may have it before anybody else (near_rounds of them), the same one level up for
 * packages. Who comes later waits for the next round, so that a far request waits at most
 * for one round of each group before it: bounded unfairness without a tuned number. With one
 * LLC a package both levels are the same group.
 *
 * SMT: one request a core and line. A second thread of that core parks on it, tries again
 * when the first one has done its operation, and, with others waiting, finds the line gone;
 * the threads of a core take turns. That siblings gain nothing under contention is what the
 * 8-socket measurement shows beyond 224 threads.
 *
 * Left out: capacity (a core remembers 4,096 lines, direct mapped; an LLC never evicts),
 * link and bank bandwidth, prefetchers, the owner state of MOESI (a dirty line that is read
 * is written back for free).
 */
#include "coherence.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"

#define COPY_SLOTS 4096u
#define NEVER	   (UINT64_MAX / 2) /* a time; far enough from overflow to add to */

/* Requests of one LLC that wait for a line, in order of submission. */
struct llc_queue {
	uint32_t head, tail, n;
};

struct line {
	uint64_t have_at;    /* the owner has the data from then on */
	uint64_t first_done; /* and has used it once */
	uint64_t lose_at;    /* and lets go then; NEVER while nobody was picked */
	uint64_t entered_at; /* when the line came to the owner's LLC */
	uint32_t owner;	     /* core, or NO_CORE */
	uint32_t version;
	uint32_t pending; /* requests that wait */
	uint32_t current; /* request between pick and handover, or NO_REQ */
	uint32_t solo;	  /* the only waiting request, while queue is NULL */
	uint32_t gate_llc, left_llc;
	uint32_t gate_package, left_package;
	uint16_t home_package;
	bool known, dirty, shared;
	struct llc_queue *queue; /* by LLC; made when a second request waits */
	uint64_t *copies;	 /* LLCs that have a copy; made when first shared */
};

struct copy {
	uint32_t line, version;
};

struct line_table {
	struct line *line;
	uint32_t n;
	struct copy *copy; /* COPY_SLOTS a core */
	uint32_t copy_words;
};

int coherence_init(struct coherence *c, const struct model *model)
{
	memset(c, 0, sizeof(*c));
	c->model = model;
	events_init(&c->events);
	c->req = calloc(2 * (size_t)model->nr_cpus, sizeof(*c->req));
	c->lines = calloc(1, sizeof(*c->lines));
	if (!c->req || !c->lines)
		return -1;
	c->lines->copy = calloc((size_t)model->nr_cores * COPY_SLOTS, sizeof(struct copy));
	c->lines->copy_words = (model->nr_llcs + 63) / 64;
	return c->lines->copy ? 0 : -1;
}

void coherence_free(struct coherence *c)
{
	if (c->lines) {
		for (uint32_t i = 0; i < c->lines->n; i++) {
			free(c->lines->line[i].queue);
			free(c->lines->line[i].copies);
		}
		free(c->lines->line);
		free(c->lines->copy);
	}
	free(c->lines);
	free(c->req);
	events_free(&c->events);
	memset(c, 0, sizeof(*c));
}

static void grow(struct coherence *c, uint32_t line)
{
	uint32_t n = c->lines->n ? c->lines->n : 1024;

	while (n <= line)
		n *= 2;
	c->lines->line = realloc(c->lines->line, n * sizeof(struct line));
	if (!c->lines->line)
		abort();
	memset(c->lines->line + c->lines->n, 0, (n - c->lines->n) * sizeof(struct line));
	c->lines->n = n;
}

static void first_touch(struct coherence *c, struct line *l, uint32_t line)
{
	const struct model *m = c->model;
	int node = arena_object_of(line)->node;

	if (node < 0 || (uint32_t)node >= m->nr_nodes)
		node = (int)(line % m->nr_nodes);
	l->home_package = (uint16_t)m->node_package[node];
	l->owner = NO_CORE;
	l->current = NO_REQ;
	l->solo = NO_REQ;
	l->gate_llc = UINT32_MAX;
	l->gate_package = UINT32_MAX;
	l->lose_at = NEVER;
	l->known = true;
}

static inline struct line *line_of(struct coherence *c, uint32_t line)
{
	struct line *l;

	if (line >= c->lines->n)
		grow(c, line);
	l = &c->lines->line[line];
	if (!l->known)
		first_touch(c, l, line);
	return l;
}

static inline struct copy *copy_of(struct coherence *c, uint32_t core, uint32_t line)
{
	return &c->lines->copy[(size_t)core * COPY_SLOTS + line % COPY_SLOTS];
}

bool coherence_hit(struct coherence *c, uint32_t core, uint32_t line, bool write, uint64_t op,
		   uint64_t now)
{
	struct line *l = line_of(c, line);

	if (l->owner == core) {
		if (now < l->have_at || now + op > l->lose_at)
			return false;
		l->dirty |= write;
		return true;
	}
	if (!write && l->shared) {
		struct copy *copy = copy_of(c, core, line);

		return copy->line == line && copy->version == l->version;
	}
	return false;
}

bool coherence_park(struct coherence *c, uint32_t cpu, uint32_t line)
{
	const struct model_core *core = &c->model->core[c->model->cpu[cpu].core];
	uint32_t self = 0;

	while (core->cpu[self] != cpu)
		self++;
	for (uint32_t t = 0; t < core->nr_cpus; t++) {
		for (int sb = 0; sb < 2; sb++) {
			struct request *r = &c->req[request_of(core->cpu[t], sb)];

			if (r->active && r->line == line) {
				r->parked |= (uint8_t)(1u << self);
				return true;
			}
		}
	}
	return false;
}

/* ---- legs ---- */

static inline const struct model_core *core_of(const struct coherence *c, uint32_t req)
{
	return &c->model->core[c->model->cpu[req / 2].core];
}

/*
 * What a leg between two packages costs more; @home_only: both ends of the transfer share a
 * package.
 */
static inline uint64_t crossing(const struct model *m, uint32_t a, uint32_t b, bool home_only)
{
	if (a == b)
		return 0;
	return home_only ? m->home_crossing : m->crossing;
}

static uint64_t request_leg(const struct coherence *c, const struct line *l, uint32_t core)
{
	const struct model *m = c->model;
	uint32_t package = m->core[core].package;
	bool home_only = false;
	enum tier t = TIER_REMOTE;

	if (l->owner != NO_CORE) {
		t = model_tier(m, core, l->owner);
		if (t <= TIER_LLC)
			return m->request[t]; /* the LLC itself orders it */
		home_only = t != TIER_REMOTE;
	}
	return m->request[t] + crossing(m, package, l->home_package, home_only);
}

static uint64_t snoop_leg(const struct coherence *c, const struct line *l, uint32_t owner,
			  uint32_t core)
{
	const struct model *m = c->model;
	enum tier t = model_tier(m, owner, core);

	if (t <= TIER_LLC)
		return m->snoop[t];
	return m->snoop[t] + crossing(m, m->core[owner].package, l->home_package, t != TIER_REMOTE);
}

static uint64_t data_leg(const struct coherence *c, uint32_t owner, uint32_t core)
{
	const struct model *m = c->model;

	return m->data[model_tier(m, owner, core)] +
	       crossing(m, m->core[owner].package, m->core[core].package, false);
}

/* Tier and crossings between a core and an LLC that has a copy. */
static enum tier llc_tier(const struct model *m, const struct model_core *core, uint32_t llc)
{
	if (core->llc == llc)
		return TIER_LLC;
	return m->llc_package[llc] == core->package ? TIER_PACKAGE : TIER_REMOTE;
}

/* Snoop + acknowledgement of the copy that is farthest (write) or nearest (read) from @core. */
static uint64_t copies_leg(const struct coherence *c, const struct line *l,
			   const struct model_core *core, bool farthest)
{
	const struct model *m = c->model;
	uint64_t best = farthest ? 0 : UINT64_MAX;

	for (uint32_t w = 0; w < c->lines->copy_words; w++) {
		for (uint64_t bits = l->copies[w]; bits; bits &= bits - 1) {
			uint32_t llc = w * 64 + (uint32_t)__builtin_ctzll(bits);
			enum tier t = llc_tier(m, core, llc);
			uint32_t package = m->llc_package[llc];
			uint64_t leg = m->snoop[t] + m->data[t];

			if (t != TIER_LLC)
				leg += crossing(m, package, l->home_package, t != TIER_REMOTE) +
				       crossing(m, package, core->package, false);
			if (farthest ? leg > best : leg < best)
				best = leg;
		}
	}
	return best;
}

static bool llc_has_copy(const struct line *l, uint32_t llc)
{
	return l->copies[llc / 64] >> (llc % 64) & 1;
}

/* ---- the queue ---- */

static void enqueue(struct coherence *c, struct line *l, uint32_t req)
{
	struct llc_queue *q;

	c->req[req].next = NO_REQ;
	if (!l->pending++ && !l->queue) {
		l->solo = req;
		return;
	}
	if (!l->queue) {
		uint32_t first = l->solo;

		l->queue = calloc(c->model->nr_llcs, sizeof(*l->queue));
		if (!l->queue)
			abort();
		for (uint32_t i = 0; i < c->model->nr_llcs; i++)
			l->queue[i].head = l->queue[i].tail = NO_REQ;
		l->solo = NO_REQ;
		q = &l->queue[core_of(c, first)->llc];
		q->head = q->tail = first;
		q->n = 1;
	}
	q = &l->queue[core_of(c, req)->llc];
	if (q->n++)
		c->req[q->tail].next = req;
	else
		q->head = req;
	q->tail = req;
}

static uint32_t take(struct coherence *c, struct line *l, uint32_t llc)
{
	struct llc_queue *q = &l->queue[llc];
	uint32_t req = q->head;

	q->head = c->req[req].next;
	q->n--;
	l->pending--;
	return req;
}

/* Has the head of this LLC's queue reached the ordering point? */
static bool arrived(const struct coherence *c, const struct line *l, uint32_t llc, uint64_t now)
{
	return l->queue[llc].n && c->req[l->queue[llc].head].arrival <= now;
}

/*
 * The LLC whose head waits longest, of @package (or of all packages but @except);
 * UINT32_MAX if nobody has arrived. @earliest: when the first head arrives.
 */
static uint32_t oldest(const struct coherence *c, const struct line *l, uint32_t package,
		       uint32_t except_llc, uint32_t except_package, uint64_t now,
		       uint64_t *earliest)
{
	uint32_t best = UINT32_MAX;
	uint64_t since = UINT64_MAX;

	for (uint32_t i = 0; i < c->model->nr_llcs; i++) {
		uint64_t arrival;

		if (!l->queue[i].n)
			continue;
		arrival = c->req[l->queue[i].head].arrival;
		if (arrival < *earliest)
			*earliest = arrival;
		if (i == except_llc || c->model->llc_package[i] == except_package ||
		    (package != UINT32_MAX && c->model->llc_package[i] != package))
			continue;
		if (arrival <= now && arrival < since) {
			since = arrival;
			best = i;
		}
	}
	return best;
}

static uint32_t waiting_in_package(const struct coherence *c, const struct line *l,
				   uint32_t package)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->model->nr_llcs; i++)
		if (c->model->llc_package[i] == package)
			n += l->queue[i].n;
	return n;
}

static uint32_t round_of(const struct coherence *c, uint32_t waiting)
{
	return (uint32_t)(c->model->near_rounds * waiting);
}

/* Choose by the rule of the opening comment; NO_REQ and *@earliest if nobody has arrived. */
static uint32_t choose(struct coherence *c, struct line *l, uint64_t now, uint64_t *earliest)
{
	uint32_t llc = UINT32_MAX, package;

	*earliest = UINT64_MAX;
	if (!l->queue) {
		uint32_t req = l->solo;

		if (c->req[req].arrival > now) {
			*earliest = c->req[req].arrival;
			return NO_REQ;
		}
		l->solo = NO_REQ;
		l->pending = 0;
		return req;
	}
	if (l->left_llc && arrived(c, l, l->gate_llc, now)) {
		l->left_llc--;
		if (l->left_package)
			l->left_package--;
		return take(c, l, l->gate_llc);
	}
	if (l->left_package)
		llc = oldest(c, l, l->gate_package, l->gate_llc, UINT32_MAX, now, earliest);
	if (llc == UINT32_MAX) {
		/* The package had its round: others first, if there are any. */
		uint32_t except = c->model->near_rounds > 0 ? l->gate_package : UINT32_MAX;

		llc = oldest(c, l, UINT32_MAX, UINT32_MAX, except, now, earliest);
		if (llc == UINT32_MAX)
			llc = oldest(c, l, UINT32_MAX, UINT32_MAX, UINT32_MAX, now, earliest);
		if (llc == UINT32_MAX)
			return NO_REQ;
		package = c->model->llc_package[llc];
		l->gate_package = package;
		l->left_package = round_of(c, waiting_in_package(c, l, package));
	}
	l->gate_llc = llc;
	l->left_llc = round_of(c, l->queue[llc].n);
	if (l->left_llc)
		l->left_llc--;
	if (l->left_package)
		l->left_package--;
	return take(c, l, llc);
}

/* ---- transfers ---- */

static void make_copies(struct coherence *c, struct line *l)
{
	if (!l->copies)
		l->copies = calloc(c->lines->copy_words, sizeof(*l->copies));
	if (!l->copies)
		abort();
}

/*
 * When the snoop for @r left the ordering point. A request of another LLC had all of the
 * present LLC's round for that: its home agent is idle while an LLC serves its own.
 */
static uint64_t snooped_since(const struct coherence *c, const struct line *l,
			      const struct request *r, uint32_t core, uint64_t now)
{
	if (c->model->core[l->owner].llc == c->model->core[core].llc)
		return now;
	return r->arrival > l->entered_at ? r->arrival : l->entered_at;
}

/*
 * Serve @req, which was picked at @now: when does everybody else let go, when is the
 * data there? The state itself changes at the handover.
 */
static void serve(struct coherence *c, struct line *l, uint32_t line, uint32_t req, uint64_t now)
{
	const struct model *m = c->model;
	struct request *r = &c->req[req];
	uint32_t me = m->cpu[req / 2].core;
	const struct model_core *core = &m->core[me];
	uint64_t let_go, data;

	if (l->owner != NO_CORE && l->owner != me) {
		let_go = snooped_since(c, l, r, me, now) + snoop_leg(c, l, l->owner, me);
		if (let_go < l->first_done)
			let_go = l->first_done;
		data = let_go + data_leg(c, l->owner, me);
		if (!l->dirty)
			r->source = SOURCE_CLEAN;
		else if (m->core[l->owner].package == core->package)
			r->source = SOURCE_HITM_LOCAL;
		else
			r->source = SOURCE_HITM_REMOTE;
		l->lose_at = let_go;
	} else if (l->owner == me) {
		/* The core's other request brought it meanwhile. */
		let_go = now > l->first_done ? now : l->first_done;
		data = let_go;
		r->source = SOURCE_HIT;
	} else if (l->shared && r->write) {
		data = now + copies_leg(c, l, core, true);
		let_go = data;
		r->source = SOURCE_CLEAN;
	} else if (l->shared) {
		let_go = now + m->read_occupancy;
		data = now +
		       (llc_has_copy(l, core->llc) ? m->l3_hit : copies_leg(c, l, core, false));
		r->source = SOURCE_CLEAN;
	} else {
		let_go = now + m->read_occupancy;
		data = now + m->memory + crossing(m, core->package, l->home_package, false);
		r->source = SOURCE_MEMORY;
	}
	r->granted = data;
	l->current = req;
	events_push(&c->events, let_go, EVENT_HANDOVER, line);
	events_push(&c->events, data, req & 1 ? EVENT_COMMIT : EVENT_RESUME, req / 2);
}

void coherence_pick(struct coherence *c, uint32_t line, uint64_t now)
{
	struct line *l = line_of(c, line);
	uint64_t earliest;
	uint32_t req;

	/* An earlier request overtook the one this pick was scheduled for. */
	if (l->current != NO_REQ || !l->pending)
		return;
	req = choose(c, l, now, &earliest);
	if (req == NO_REQ)
		events_push(&c->events, earliest, EVENT_PICK, line);
	else
		serve(c, l, line, req, now);
}

void coherence_handover(struct coherence *c, uint32_t line, uint64_t now)
{
	struct line *l = line_of(c, line);
	struct request *r = &c->req[l->current];
	uint32_t me = c->model->cpu[l->current / 2].core;
	uint32_t llc = c->model->core[me].llc;

	if (r->write || (l->owner == NO_CORE && !l->shared)) {
		/* Exclusive from now on: by a write, or as the first one to read. */
		if (l->shared)
			memset(l->copies, 0, c->lines->copy_words * sizeof(*l->copies));
		if (l->owner == NO_CORE || c->model->core[l->owner].llc != llc)
			l->entered_at = now;
		l->shared = false;
		l->version++;
		l->owner = me;
		l->dirty = r->write;
		l->have_at = r->granted;
		l->first_done = r->granted + r->op;
	} else {
		make_copies(c, l);
		if (l->owner != NO_CORE && l->owner != me) {
			uint32_t from = c->model->core[l->owner].llc;

			*copy_of(c, l->owner, line) = (struct copy){ line, l->version };
			l->copies[from / 64] |= 1ull << (from % 64);
			l->owner = NO_CORE;
			l->dirty = false;
		}
		l->shared = true;
		l->copies[llc / 64] |= 1ull << (llc % 64);
	}
	r->version = l->version;
	l->lose_at = NEVER;
	l->current = NO_REQ;
	if (l->pending)
		coherence_pick(c, line, now);
}

void coherence_submit(struct coherence *c, uint32_t req, uint32_t line, bool write, uint64_t op,
		      uint64_t now)
{
	struct line *l = line_of(c, line);
	struct request *r = &c->req[req];
	uint32_t core = c->model->cpu[req / 2].core;

	r->line = line;
	r->write = write;
	r->op = op;
	r->active = true;
	r->parked = 0;
	r->arrival = now + request_leg(c, l, core);
	enqueue(c, l, req);
	if (l->current == NO_REQ)
		events_push(&c->events, r->arrival, EVENT_PICK, line);
}

void coherence_resume(struct coherence *c, uint32_t req)
{
	struct request *r = &c->req[req];
	const struct model_core *core = core_of(c, req);

	r->active = false;
	if (!r->write)
		*copy_of(c, c->model->cpu[req / 2].core, r->line) =
			(struct copy){ r->line, r->version };
	/*
	 * A moment before the operation is done: the sibling asks next, and the thread that
	 * had the line parks on it. At the same time the lower-numbered one would win for
	 * ever.
	 */
	for (uint32_t t = 0; t < core->nr_cpus; t++)
		if (r->parked >> t & 1)
			events_push(&c->events, r->granted + r->op - 1, EVENT_RESUME, core->cpu[t]);
	r->parked = 0;
}
