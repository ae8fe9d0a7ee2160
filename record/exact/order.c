// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Vector clocks. A thread keeps a clock for each thread: how much of that thread's work happened
 * before. Its own clock advances whenever another thread may learn from it. A released word keeps
 * the clocks of all its releases. So this may assume an order that C does not promise, and miss a
 * race. It never invents one.
 *
 * Why most operations are short: a thread that knows another thread's clock knows all that the
 * other one knew then. So one comparison shows that a word has nothing new. And all words that a
 * thread releases before it learns anything share one set of clocks.
 */
#include "order.h"

#include <stdlib.h>
#include <string.h>

/* The clocks of a release. */
struct shared {
	uint32_t uses, n;
	uint32_t at[];
};

struct order {
	uint32_t n, *at;
	struct shared *shared; /* a copy of @at, but for the thread's own clock */
	struct shared *fence;  /* @at and the thread's clock at the last release fence */
	uint32_t fence_clock;
	uint32_t loads_n, *loads; /* what an acquire fence will learn */
};

/*
 * The clocks of a word's releases: @clocks, and @clock of @thread. @mixed: several threads released
 * it.
 */
struct release {
	uint64_t at; /* 0: a free slot */
	struct shared *clocks;
	uint32_t thread, clock;
	bool mixed;
};

static struct release *word, world;
static uint64_t mask, used;

static struct order *own(void)
{
	return exact_self ? exact_self->order : NULL;
}

static void drop(struct shared *s)
{
	if (s && !--s->uses)
		free(s);
}

/* Make room at *@at for the clocks of @wanted threads. Return: *@at. */
static uint32_t *room(uint32_t **at, uint32_t *n, uint32_t wanted)
{
	uint32_t *more = *at;

	if (more && wanted <= *n)
		return more;
	wanted = (wanted + 15) / 16 * 16;
	more = realloc(*at, wanted * sizeof(**at));
	if (!more)
		abort();
	memset(more + *n, 0, (wanted - *n) * sizeof(*more));
	*at = more;
	*n = wanted;
	return more;
}

static uint32_t get(const uint32_t *at, uint32_t n, uint32_t thread)
{
	return thread < n ? at[thread] : 0;
}

/* ---- a thread learns ---- */

static void changed(struct order *o)
{
	drop(o->shared);
	o->shared = NULL;
}

static void learn_into(uint32_t **at, uint32_t *n, const struct release *r)
{
	uint32_t most = r->clocks->n > r->thread ? r->clocks->n : r->thread + 1;
	uint32_t *to = room(at, n, most);

	for (uint32_t i = 0; i < r->clocks->n; i++)
		if (to[i] < r->clocks->at[i])
			to[i] = r->clocks->at[i];
	if (to[r->thread] < r->clock)
		to[r->thread] = r->clock;
}

static bool knows(const uint32_t *at, uint32_t n, const struct release *r)
{
	if (get(at, n, r->thread) < r->clock)
		return false;
	for (uint32_t i = 0; r->mixed && i < r->clocks->n; i++)
		if (get(at, n, i) < r->clocks->at[i])
			return false;
	return true;
}

static void learn(struct order *o, const struct release *r)
{
	if (!r->clocks || knows(o->at, o->n, r))
		return;
	learn_into(&o->at, &o->n, r);
	changed(o);
}

/* ---- a thread releases ---- */

static struct shared *shared_of(const uint32_t *at, uint32_t n)
{
	struct shared *s = malloc(sizeof(*s) + n * sizeof(*s->at));

	if (!s)
		abort();
	s->uses = 1;
	s->n = n;
	memcpy(s->at, at, n * sizeof(*s->at));
	return s;
}

static struct shared *share(struct order *o)
{
	if (!o->shared)
		o->shared = shared_of(o->at, o->n);
	o->shared->uses++;
	return o->shared;
}

/* Add clocks @s, and @clock of the calling thread, to @r. Takes over @s. */
static void add(struct release *r, struct shared *s, uint32_t clock)
{
	struct release both = { .thread = exact_self->number, .clock = clock, .clocks = s };
	uint32_t n = 0, *at = NULL;

	if (r->clocks && !knows(s->at, s->n, r) &&
	    !(r->thread == both.thread && !r->mixed && r->clock <= clock)) {
		learn_into(&at, &n, r);
		learn_into(&at, &n, &both);
		drop(s);
		both.clocks = shared_of(at, n);
		both.mixed = true;
		free(at);
	}
	drop(r->clocks);
	r->clocks = both.clocks;
	r->thread = both.thread;
	r->clock = both.clock;
	r->mixed = both.mixed;
}

static void advance(struct order *o)
{
	o->at[exact_self->number]++;
}

static void release(struct order *o, struct release *r)
{
	add(r, share(o), o->at[exact_self->number]);
	advance(o);
}

/* ---- threads ---- */

void order_thread(struct thread *t)
{
	struct order *o, *parent = own();

	if (!exact.races)
		return;
	if (t->number >= ORDER_THREADS) {
		exact.races = 0;
		exact.too_many = true;
		return;
	}
	o = calloc(1, sizeof(*o));
	if (!o)
		abort();
	if (parent) {
		memcpy(room(&o->at, &o->n, parent->n), parent->at, parent->n * sizeof(*o->at));
		advance(parent);
	}
	room(&o->at, &o->n, t->number + 1)[t->number] = 1;
	t->order = o;
}

static void learn_of(struct order *o, struct thread *from)
{
	struct order *other = from->order;
	struct release r = { .thread = from->number };

	if (!o || !other || o == other)
		return;
	r.clocks = share(other);
	r.clock = other->at[from->number]++;
	learn(o, &r);
	drop(r.clocks);
}

void order_after(const struct thread *t)
{
	if (exact.races)
		learn_of(own(), (struct thread *)(uintptr_t)t);
}

void order_wakes(struct thread *t)
{
	if (exact.races && exact_self)
		learn_of(t->order, exact_self);
}

void order_all(void)
{
	struct order *o = own();

	if (!exact.races || !o)
		return;
	room(&o->at, &o->n, exact.nr_threads);
	for (uint32_t i = 0; i < exact.nr_threads; i++) {
		struct order *other = exact.threads[i]->order;

		if (other && other != o)
			o->at[i] = other->at[i]++;
	}
	changed(o);
}

void order_world(void)
{
	struct order *o = own();

	if (!exact.races || !o)
		return;
	learn(o, &world);
	release(o, &world);
}

uint32_t order_clock(void)
{
	const struct order *o = own();

	return o ? o->at[exact_self->number] : 0;
}

bool order_before(uint32_t thread, uint32_t clock)
{
	const struct order *o = own();

	return !o || get(o->at, o->n, thread) >= clock;
}

/* ---- words ---- */

static struct release *find(uint64_t at)
{
	uint64_t i = at * 0x9e3779b97f4a7c15ull >> 24 & mask;

	while (word[i].at && word[i].at != at)
		i = (i + 1) & mask;
	return &word[i];
}

static void grow(void)
{
	struct release *old = word;
	uint64_t n = old ? mask + 1 : 0;

	mask = n ? 2 * n - 1 : 1023;
	word = calloc(mask + 1, sizeof(*word));
	if (!word)
		abort();
	for (uint64_t i = 0; i < n; i++)
		if (old[i].at)
			*find(old[i].at) = old[i];
	free(old);
}

static struct release *word_of(uint64_t at)
{
	struct release *r;

	if (2 * used >= mask)
		grow();
	r = find(at);
	if (!r->at) {
		r->at = at;
		used++;
	}
	return r;
}

static bool acquires(int mo)
{
	return mo != __ATOMIC_RELAXED && mo != __ATOMIC_RELEASE;
}

static bool releases(int mo)
{
	return mo >= __ATOMIC_RELEASE;
}

static void load(struct order *o, uint64_t at, int mo)
{
	const struct release *r = word ? find(at) : NULL;

	if (!r || !r->clocks)
		return;
	if (acquires(mo))
		learn(o, r);
	else if (!knows(o->at, o->n, r) && !knows(o->loads, o->loads_n, r))
		learn_into(&o->loads, &o->loads_n, r);
}

static void store(struct order *o, uint64_t at, int mo)
{
	if (releases(mo)) {
		release(o, word_of(at));
	} else if (o->fence) {
		o->fence->uses++;
		add(word_of(at), o->fence, o->fence_clock);
	}
}

void order_atomic(const volatile void *at, enum order_access how, int mo)
{
	struct order *o = own();

	mo &= 0xff;
	if (!o)
		return;
	if (how & ORDER_LOAD)
		load(o, (uint64_t)(uintptr_t)at, mo);
	if (how & ORDER_STORE)
		store(o, (uint64_t)(uintptr_t)at, mo);
}

void order_fence(int mo)
{
	struct order *o = own();

	if (!exact.races || !o)
		return;
	mo &= 0xff;
	if (acquires(mo) && o->loads) {
		room(&o->at, &o->n, o->loads_n);
		for (uint32_t i = 0; i < o->loads_n; i++)
			if (o->at[i] < o->loads[i])
				o->at[i] = o->loads[i];
		memset(o->loads, 0, o->loads_n * sizeof(*o->loads));
		changed(o);
	}
	if (releases(mo)) {
		drop(o->fence);
		o->fence = share(o);
		o->fence_clock = o->at[exact_self->number];
		advance(o);
	}
}
