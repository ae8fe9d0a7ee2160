// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "sim.h"
#include "toy.h"

/* Alternates with another CPU: each raises the value by 1, from even or from odd numbers. */
static void turns(struct step *s, bool load_first)
{
	for (uint64_t i = 0; i < s->n; i++) {
		uint64_t mine = 2 * i + s->odd, expected;

		if (load_first)
			while (__atomic_load_n(s->addr, __ATOMIC_RELAXED) != mine)
				;
		do
			expected = mine;
		while (!__atomic_compare_exchange_n(s->addr, &expected, mine + 1, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	}
}

static void look(void *arg)
{
	struct step *s = arg;

	s->n = *s->addr;
}

static void one(struct step *s)
{
	switch (s->kind) {
	case STEP_LOAD:
		s->n = __atomic_load_n(s->addr, __ATOMIC_RELAXED);
		break;
	case STEP_PLAIN_LOAD:
		s->n = *s->addr;
		break;
	case STEP_PLAIN_STORE:
		*s->addr = 2;
		break;
	case STEP_OBSERVE:
		sim_observe(look, s);
		break;
	case STEP_STORE:
		__atomic_store_n(s->addr, 1, __ATOMIC_RELAXED);
		break;
	case STEP_ADD:
		__atomic_fetch_add(s->addr, 1, __ATOMIC_RELAXED);
		break;
	case STEP_FENCE:
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		break;
	case STEP_LOOP_ADD:
		for (uint64_t i = 0; i < s->n; i++)
			__atomic_fetch_add(s->addr, 1, __ATOMIC_RELAXED);
		break;
	case STEP_TURNS:
	case STEP_TURNS_LOAD:
		turns(s, s->kind == STEP_TURNS_LOAD);
		break;
	case STEP_COMPUTE:
		sim_compute(s->n ? s->n : UINT64_MAX);
		break;
	case STEP_INTERRUPT:
		sim_interrupt((uint32_t)s->n, 1000);
		break;
	}
}

void toy_body(uint32_t cpu, void *arg)
{
	struct script *script = arg;

	(void)cpu;
	for (int i = 0; i < script->n; i++) {
		struct step *s = &script->step[i];
		uint64_t begin;

		if (sim_now() < s->at)
			sim_spend(s->at - sim_now());
		begin = sim_now();
		one(s);
		s->took = sim_now() - begin;
	}
}

void toy_spin(uint32_t cpu, void *arg)
{
	struct spin *x = arg;
	uint64_t begin = sim_now();

	(void)cpu;
	for (uint64_t turn = x->player; turn < 2 * TOY_TURNS; turn += 2) {
		while (__atomic_load_n(x->word, __ATOMIC_RELAXED) != turn)
			;
		__atomic_store_n(x->word, turn + 1, __ATOMIC_RELAXED);
	}
	x->took = sim_now() - begin;
}
